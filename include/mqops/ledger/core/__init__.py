"""What a marker says, and how the lines of the ledger hang together. Pure."""
