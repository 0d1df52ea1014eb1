"""The fields of the forms of manual runs."""
