"""The ledger: its markers, the hash chain of its lines, and the sums of a run."""
