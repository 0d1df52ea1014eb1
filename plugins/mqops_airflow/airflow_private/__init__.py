"""Every import of Airflow that is not its public interface, one module for each kind of process that it is for.

A new Airflow may change them without a word: `docs/compatibility.md` names each, and a test compares. Nothing is added
to them here.
"""
