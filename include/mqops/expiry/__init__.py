"""Expiry as operations see it: which queues are worth a scan, what a scan found, what a reply's expiry is. Pure."""
