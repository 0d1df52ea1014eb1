"""Prove: markers go into the ledger, each run balances, and what became of its messages is looked up."""
