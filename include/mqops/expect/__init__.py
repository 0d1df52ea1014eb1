"""Expectations: what a rules table should do with the messages of a recorded snapshot, as a file that users edit.

`file` reads one, `check` holds a table's fates against it, `record` writes one. The format is described in
`docs/rules_testing.md`.
"""
