"""Undo: what a run moved or discarded is put back on its queue, by a new run with its own plan.

Pure: `decision` says what can be undone. `mqops.undo.in_process` looks at the queues and the ledger. The mover puts the
messages back, with lane tokens, markers and a proof as in every run.

1. The ledger says which rows the run acted on. The undo has one row for each of them, with the same row number. Its
   snapshot is a copy of the original messages (MQMD and body, with the MQDLH), each at that number.
2. A discarded message exists only as a copy. It is put back from the copy (RESTORE) if its queue has no such message.
   The queue is searched when the plan is made, and again in the unit of work that puts the message.
3. A moved message exists on another queue. One unit of work gets it from there and puts its original back (RETURN), so
   it is never in two places. It is identified by MsgId, CorrelId, put date and time, and the digest of the body that
   was put there (without the MQDLH if the run removed it).
4. If it cannot be proved that a message is nowhere else, it is refused, counted, and never put:
   CONSUMED: the message is no longer on the queue that it was put on.
   HIDDEN: the message is not visible. It may be in a unit of work of another program, or on its own queue, which cannot
   be browsed now (inhibited, in use, deleted, no authority). This holds for discarded messages, too. Undo again later.
   UNPROVABLE: it went to a queue that cannot be browsed (on another queue manager, a transmission queue, deleted,
   inhibited).
5. Three more are refused. CONFIRMS: getting the message would send its sender a false confirmation of delivery
   (MQRO_COD). PARTED: the message could be put back, but others of its MQ group are refused, so it stays with them.
   (A group that was discarded exists nowhere else: each of its messages that can be put back is put back.)
   EXPIRED: rule 6. In the proof CONSUMED, EXPIRED and LAST (rule 12) count as gone, the other refused messages as left:
   the lake has them, or the queue that they went to.
6. EXPIRED: no lifetime is left. The lifetime is that of the snapshot less the time since then, in tenths of a second. A
   message that is put from its copy gets the lifetime that is left. One that is got from a queue keeps the Expiry that
   the queue manager counted down there.
7. PRESENT: the message is still on its own queue. UNDONE: an earlier undo put it back. Neither needs an action. So no
   message is undone twice, even if it was consumed or moved after the earlier undo.
8. A run has one undo at a time: none is planned while another has lane tokens on the ledger queue, and none begins to
   act if another began after it was planned. No process may act on the run itself meanwhile.
9. The original is put with MQPMO_SET_ALL_CONTEXT: it keeps its identifiers, group, persistence, priority, report
   options, context, and put date and time. New are only its place on the queue, and its backout count, which is 0.
10. An undo cannot be undone: the messages that it put back are ordinary messages again.
11. If a queue gives no messages when the undo gets from it (inhibited, in use, deleted, no authority), only its own
    messages stay. They are recorded as failed with the reason, and a later undo tries them again. The proof is not
    delayed: while the queue cannot be browsed, its messages count as left, not as gone.
12. A copy (COPY) is taken from where it was put (WITHDRAW): the original has never left its queue. It is taken only
    while the original is on its queue, which is looked at when the plan is made, and again in the unit of work. Else
    the copy may be the last one, and is left (LAST). Each copy needs an original of its own. The original's queue is
    only browsed: a program may have it for itself, and the user needs no GET on it.
"""

UNDOES = "undo of run "
"""What the plan of an undo has in place of a rules table: these words and the run that it undoes."""
