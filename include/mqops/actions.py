"""What a plan says is to be done with a message, in one word. Each set of actions stands here and nowhere else."""

from __future__ import annotations

RESTORE, RETURN = "RESTORE", "RETURN"
"""What an undo does (`mqops.undo`): put a copy again; get a message from where it went and put its original back."""
EXPIRE = "EXPIRE"
"""Discard by age: the expiration report that the message asked for is sent in the same unit of work (E15)."""

PUTS = ("RETRY", "FWD")
"""A rules table puts the message on another queue. Canaries are sent for these: a discarded message does not return."""
DISCARDS = ("DISCARD", EXPIRE)
"""The message is removed from its queue."""
TAKES = (*PUTS, "DISCARD")
"""A rules table takes the message off its queue."""
ACTED = (*PUTS, *DISCARDS, RESTORE, RETURN)
"""The message is touched. A row with any other action stays where it is."""

OF_NOBODY = " "
"""`alternate_user` of a message that PUTAUT(CTX) puts while its MQMD.UserIdentifier is blank. No user has this name, so
the put never gets the authority of the user that mqops runs as."""
