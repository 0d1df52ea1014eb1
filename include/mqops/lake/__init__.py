"""Files of the lake: run folders, snapshots and plans in Parquet, the ledger. Everything is private and durable."""
