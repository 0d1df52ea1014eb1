"""A queue manager as it is now: figures, runs, and what is wrong. The page Estate and `mqops estate status` show it.

Each check is a module of its own, and one of the tuples in `mqops.look.estate.checks` has it. Nothing here fails: a
check that fails is one more problem.
"""
