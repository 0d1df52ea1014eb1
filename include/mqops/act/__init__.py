"""Acting on an approved plan: which messages make a unit of work, what its marker says, where a lane resumes.

Pure: the queue manager is reached through `mqops.act.core.port.Port` alone.

The protocol, which makes every unit of work happen exactly once whoever is killed and however often it is repeated:

1. A plan's rows with an action are dealt into lanes by their destination (`lanes.lane_of`), so a destination's messages
   keep their order. A row's place in its lane is its *position*, 0 to the lane's length.
2. Each lane has one *ticket*, a persistent message on the ledger queue whose body is the next position. All tickets of
   a plan are put in one unit of work together with a marker of kind "issued", once.
3. A unit of work gets the ticket, deals with the rows of [first, next), puts its marker, puts the ticket with the new
   position, and commits. Whoever does not get the ticket does nothing. A killed process gives back ticket and messages.
4. The marker lists what was done ("acted") and, apart, what was tried and failed ("failed"). The identity of either
   follows from the plan, the lane and the first position, so that it can be looked for and is recorded once.
5. When a put fails, the unit is backed out and done again up to the row before; the offender is recorded as failed
   instead of being touched. Where the destination is to blame, it is closed (`closed`): all rows for it are recorded as
   failed without a put, as theirs would have failed. What passes by itself (it is full, or inhibited, or in use) closes
   it for a second, behind which the next row is put again, so that a queue that is drained meanwhile gets its messages;
   anything else, to the end of the lane. The same holds for a queue that messages are taken from where there are
   several and one gives nothing (`port.CannotTake`).
6. The last ticket of a lane is not put back, and the last marker has an identity of its own (`last_id`). The ranges of
   the markers then tile the lane from 0 to its end.
7. Before each unit of work a gate is asked (`gate`): has somebody stopped the run, does the pace allow it, has the
   destination room. Whoever must wait puts the ticket back first: nothing waits with a unit of work open. Rows that are
   left where they are for a reason of ours are listed in the "acted" marker (`left`): they were not tried. A try that
   failed takes from the pace as one that did not.
8. Rows of one MQ group (`Row.bundle`) stand together in their lane and go in one unit of work or not at all.
9. Rows with an order key (a rule's ORDER) never overtake one of the same key and destination that was not moved. Which
   keys are stuck is written into the ticket, so that it holds whoever comes next; where the destination is closed for
   good or has no room, or too many keys would stand there, the whole destination is. A message that is not seen,
   because it is gone or in a unit of work of somebody else, holds back nobody.
10. Canaries have lanes of their own, the second half of a plan's lanes, which are done first. What is decided about
    them, and which keys are stuck behind those that were not moved (9), is noted before any other lane is begun
    (`mqops.act.canary`).
11. A ticket counts only if it is signed and stands where the lane stands: an application can put a copy of one again.
    One process at a time works on a lane (`RunFolder.lane_lock`). It knows the position from its own last unit of work;
    at first, from the ledger and from the markers on the queue: no unit of work has begun at the ticket's position.
    Any other ticket is left where it is, and set aside when the queue is drained.
"""
