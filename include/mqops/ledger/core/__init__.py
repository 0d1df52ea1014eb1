"""What a marker says, and the hash chain of the ledger's lines. Pure."""
