"""Channels between embedded queue managers: status, partner, the mover and its record of batches."""
