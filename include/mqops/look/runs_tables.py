"""The tables of the index of the runs (`mqops.look.runs_index`)."""

from __future__ import annotations

VERSION = 9
SCHEMA = """
CREATE TABLE run (
    run TEXT PRIMARY KEY, changed INTEGER, at TEXT, state TEXT, workflow TEXT, queues TEXT, proved_at TEXT,
    begun INTEGER, sound INTEGER, asks INTEGER, until TEXT, moved INTEGER, takes INTEGER, discarded INTEGER,
    messages INTEGER, undoes TEXT, session TEXT, verdict INTEGER, grew_on TEXT, grew INTEGER, aged TEXT,
    snapshot INTEGER, plan INTEGER, least_id BLOB, greatest_id BLOB, line TEXT
);
CREATE TABLE queue_of (queue TEXT, at TEXT, run TEXT, PRIMARY KEY (queue, at, run)) WITHOUT ROWID;
CREATE TABLE found_by (
    queue TEXT, person TEXT, workflow TEXT, state TEXT, at TEXT, run TEXT,
    PRIMARY KEY (queue, person, workflow, state, at, run)
) WITHOUT ROWID;
CREATE TABLE observed (run TEXT, queue TEXT, messages INTEGER);
CREATE TABLE put_on (run TEXT, queue TEXT, queue_manager TEXT);
CREATE TABLE proof (
    seq INTEGER, hash TEXT, run TEXT, error TEXT, PRIMARY KEY (seq, hash, run, error)
) WITHOUT ROWID;
CREATE TABLE listed (changed INTEGER, whole INTEGER, at INTEGER);
INSERT INTO listed VALUES (0, 0, 0);
CREATE TABLE lost (made TEXT, runs INTEGER);
INSERT INTO lost VALUES (hex(randomblob(16)), 0);
CREATE INDEX by_time ON run (at, run);
CREATE INDEX by_change ON run (changed);
CREATE INDEX by_state ON run (state, at);
CREATE INDEX by_workflow ON run (workflow, at);
CREATE INDEX of_same_queues ON run (workflow, queues, at, run);
CREATE INDEX who_ask ON run (until) WHERE asks;
CREATE INDEX who_begun ON run (sound) WHERE begun;
CREATE INDEX who_moved ON run (at) WHERE begun AND moved;
CREATE INDEX by_proof ON run (proved_at);
CREATE INDEX by_proof_of_moves ON run (proved_at) WHERE snapshot AND proved_at <> '' AND undoes = '';
CREATE INDEX by_queues ON run (workflow, queues, at, run) WHERE messages;
CREATE INDEX who_discarded ON run (discarded) WHERE state = 'scanned' AND discarded;
CREATE INDEX who_grew ON run (at) WHERE grew;
CREATE INDEX who_undo ON run (undoes) WHERE undoes <> '';
CREATE INDEX passes ON run (session) WHERE session <> '';
CREATE INDEX verdicts ON run (verdict) WHERE verdict;
CREATE INDEX has_snapshot ON run (aged, snapshot) WHERE snapshot;
CREATE INDEX has_plan ON run (aged, plan) WHERE plan;
CREATE INDEX by_msg_ids ON run (least_id, greatest_id) WHERE snapshot OR plan;
CREATE INDEX not_begun ON run (aged) WHERE NOT begun;
CREATE INDEX queues_of_run ON queue_of (run);
CREATE INDEX observed_of_run ON observed (run);
CREATE INDEX put_on_of_run ON put_on (run);
CREATE INDEX proof_of_run ON proof (run);
CREATE INDEX broken_proof ON proof (run) WHERE error <> '';
"""
