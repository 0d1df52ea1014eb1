"""Poisonous messages: what becomes of one that its application cannot process, and how backed-out ones go back.

`disposal` and `origin` decide and touch nothing. `consumer` is the library's poison-aware consumer: it works on an
application's own pymqi connection and is the only module here that knows a queue manager.
"""
