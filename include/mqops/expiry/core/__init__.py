"""The values and rules of expiry scans. Pure."""
