"""Undo: what a run moved and discarded is put back where it was taken from, as a new run with a plan of its own.

Pure: `decision` says what can be undone. The look at the queues and the ledger is `mqops.undo.in_process`'s, the puts
are the mover's, with the tickets, markers and proof that every run has.

1. Undone is what the run's ledger says was acted on, row by row. The rows of the new plan have the numbers of the run's
   plan; the new run's snapshot is a copy of the originals (MQMD and body, MQDLH included), each at that number.
2. A discarded message is nowhere. It is put again from its copy (RESTORE) when the queue it was taken from has no
   such message; it is looked for when the plan is made and again in the unit of work that puts it.
3. A moved message is somewhere. It is got from where it went and its original put back in the same unit of work
   (RETURN), so it is never in two places. It is known by MsgId, CorrelId, put date and time and the digest of the body
   that was put there, without MQDLH where the run took it off.
4. What cannot be proved to be absent elsewhere is refused and counted, never put: CONSUMED is no longer where it went;
   HIDDEN is not seen, but may be in a unit of work of somebody else, or on its own queue while nobody can look there
   (it is shut, gone, not allowed), which holds for a discarded one too (an undo made later sees it, or not);
   UNPROVABLE went where nobody can look (another queue manager, a transmission queue, a queue that is gone or shut).
5. CONFIRMS is refused too: getting it would send the sender a confirmation of delivery (MQRO_COD) that is not true. And
   so is PARTED, which is where it went while others of its MQ group are refused: it stays with whoever has those.
   Of a group that was discarded what can be is put back: nobody else has it.
6. EXPIRED has no lifetime left: that of the snapshot less the time since then, in tenths of a second. What is put again
   gets the lifetime that is left; what is got from a queue keeps what the queue manager counted there.
7. PRESENT is on the queue it was taken from, UNDONE was put back by an earlier undo: nothing is to be done for either.
   So nothing is undone twice, also when it was consumed or moved on after it had been put back.
8. Undos of a run follow each other: none is planned while another has tickets out, and none begins to act if another
   was begun since it was planned. The run itself may not be acted on meanwhile.
9. The original is put with MQPMO_SET_ALL_CONTEXT: identifiers, group, persistence, priority, report options, context
   and put date and time are its own. Only where it stands in the queue is new, and its backout count is 0.
10. An undo is not undone: what it put back is a message like any other, for the rules.
11. A queue that gives nothing when it is to be taken from (it is shut or in use, gone, or not allowed) holds back its
    own messages alone: they stay, recorded as failed with the reason, and a later undo tries them again. Nor does it
    hold back the proof: while nobody can look there, what was not put back counts as left, not as gone.
"""

WORKFLOW = "undo"
