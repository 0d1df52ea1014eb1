"""Files of the lake: run folders, snapshots and plans in Parquet, stops. Only their owner can read them.

The ledger is the room `mqops.ledger`.
"""
