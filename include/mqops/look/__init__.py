"""Looking: runs, messages on queues and in snapshots, and what the lake knows of them. Nothing is ever moved here.

Command line and pages call the same functions. They give frozen values with `to_json`; printing is theirs.
"""
