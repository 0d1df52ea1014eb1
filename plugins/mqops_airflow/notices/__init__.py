"""What people are told of a run: its note in Airflow, and a notifier of the estate."""
