"""The words for people, once: what a state means, what became of messages, and sentences with names, times and links
in them. Pure: values go in, and a page, a command line or a note in Airflow shows what comes out."""
