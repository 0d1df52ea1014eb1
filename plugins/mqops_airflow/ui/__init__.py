"""What stands in Airflow's own UI: its Markdown, and the places of our pages."""
