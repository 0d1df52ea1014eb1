"""Messages in files: an export writes them, a load puts them on a queue, whole and each once.

1. An export browses. It writes each message as it is on the queue, or as a snapshot has it: the MQMD of version 2 and
   all that follows. Its text format is that of IBM's dmpmqmsg (`core.text`), its other format the lake's (Parquet).
2. A load is a run: its snapshot is a copy of the file's messages, its plan has one row for each of them, in their
   order. The mover puts them with lane tokens, markers and a proof, as in every run (`mqops.act`). So a load that is
   killed goes on where it was, and each message is put once.
3. The file is read to its end before anything is put. A damaged file is refused with the number of the line.
4. A file is known by the digest of its messages, in their order, together with the queue (of an alias the local queue
   it leads to); not by its name or format. A load of the same messages on the same queue goes on with the one that was
   begun; what an earlier load put is not put again (LOADED), whatever became of it. Only `--again` puts it once more,
   unless it finds a load that is not finished: then it finishes that one, and puts nothing else.
5. A message that is on the queue already, with the same MsgId, CorrelId, put date and time and the same body, is left
   (PRESENT). Where the queue cannot be browsed, this is not looked at, and a remark says so.
6. A message is put with MQPMO_SET_ALL_CONTEXT: it keeps its identifiers, group, persistence, priority, report options,
   context, put date and time, and the Expiry that the file has. New are its place on the queue, its backout count,
   which is 0, and the MsgId of a message whose MsgId is binary zeros: the queue manager makes one.
7. What could not be put is left in the file, counted with the reason, and tried again by the next load of the file.
8. A load takes nothing from a queue, so it cannot be undone: what it put are ordinary messages.
"""
