"""The SQLite file of a queue manager: statements, transactions, the write lock; and the locks of live processes."""
