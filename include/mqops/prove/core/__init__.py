"""The arithmetic of a proof. Pure."""
