"""One Airflow serves all tests of this package (the fixture `site`)."""
