"""Expired messages: how one is discarded, and the scans that look for them."""
