"""Acting on an approved plan: which messages make a unit of work, what its marker says, where a lane resumes.

`mqops.act.core` is pure and knows `mqops.act.core.port.Port` alone; the shells beside it reach the queue manager.

The protocol: each unit of work happens exactly once, also if processes are killed and acting is repeated.

1. A plan's rows with an action are dealt into lanes by their destination (`core.deal`), so a destination's messages
   keep their order. A row's place in its lane is its *position*, 0 to the lane's length.
2. Each lane has one *lane token*, a persistent message on the ledger queue whose body is the next position. All lane
   tokens of a plan are put in one unit of work together with a marker of kind "issued", once.
3. A unit of work gets the lane token, deals with the rows of [first, next), puts its marker, puts the lane token with
   the new position, and commits. A process that does not get the lane token does nothing. If a process is killed, the
   queue manager backs out its unit of work: lane token and messages are on their queues again.
4. The marker lists what was done ("acted") and, apart, what was tried and failed ("failed"). The identity of either
   follows from the plan, the lane and the first position, so that it can be looked for and is recorded once.
5. When a put fails, the unit is backed out and done again up to the row before; the offender is recorded as failed
   instead of being touched. If the destination is to blame, it is blocked (`core.blocked`): all rows for it are
   recorded as failed without a put. A failure that passes by itself (the queue is full, inhibited, or in use) blocks
   it for a second; then the next row is put again, so that a queue that is drained meanwhile gets its messages. Any
   other failure blocks it to the end of the lane. The same holds for a queue that messages are taken from, if the plan
   takes from several and this one gives nothing (`port.CannotTake`).
6. The last lane token of a lane is not put back, and the last marker has an identity of its own (`last_id`). The
   ranges of the markers then tile the lane from 0 to its end.
7. Before each unit of work the rate limiter is asked: has somebody stopped the run, does the pace allow it, has the
   destination room. A process that must wait puts the lane token back first: no unit of work is open while it waits.
   The "acted" marker lists the rows that mqops left where they are for a reason of its own (`left`): they were not
   tried. A failed try counts for the pace like any other.
8. Rows of one MQ group (`Row.bundle`) stand together in their lane and go in one unit of work or not at all.
9. Rows with an order key (a rule's ORDER) never overtake one of the same key and destination that was not moved. The
   lane token has the keys that wait, so the next process knows them. If the destination is blocked to the end of the
   lane or has no room, or if too many keys wait, the whole destination waits. A message that is not visible, because
   it is gone or in a unit of work of another program, makes no other message wait.
10. Canaries have lanes of their own, the second half of a plan's lanes, which are done first. What is decided about
    them, and which keys are stuck behind those that were not moved (9), is noted before any other lane is begun
    (`mqops.act.canary`).
11. A lane token counts only if it is signed and stands where the lane stands: an application can put a copy of one
    again. One process at a time works on a lane (`RunFolder.lane_lock`). It knows the position from its own last unit
    of work; at first, from the ledger and from the markers on the queue: no unit of work has begun at the lane token's
    position. Any other lane token is left where it is, and set aside when the queue is drained.
"""
