"""Expectations: what a rules table should do with the messages of a recorded snapshot, as a file that users edit.

`file` reads one, `check` compares a table's decisions with it, `record` writes one. The format is described in
`docs/rules_testing.md`.
"""
