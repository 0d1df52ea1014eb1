"""The ledger: what a marker says, how the lines hang together, and the arithmetic of a run. No file, no queue."""
