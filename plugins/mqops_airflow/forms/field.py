"""A field of a form, as Airflow's `Param`: one that is cheap to copy."""

from __future__ import annotations

from airflow.sdk import Param

DIALECT = "http://json-schema.org/draft-07/schema#"
"""Of the schemas. Airflow checks each of a scheduled DAG whenever its file is parsed. Where none is named it takes the
newest dialect, whose check of a schema takes five times as long."""


class _Schema(dict[str, object]):
    """What a field allows (JSON Schema). Nobody changes it, so that copies of the field share it.

    Airflow copies all fields of a DAG, deeply, for each class of the operator of each task (`apply_defaults`): with
    the schemas that is 2 million copies for 200 queue managers. Its own `Param.__copy__` shares the schema as well.
    """

    def __deepcopy__(self, memo: object) -> _Schema:
        return self


def field(default: object, *, description: str, **schema: object) -> Param:
    """A field with what a person reads below it.

    :param default: what stands in it; None: nothing.
    :param schema: the keywords of JSON Schema that it allows, and `title` and `section`, which Airflow's form reads.
    """
    return Param(default, description=description, schema=_Schema({"$schema": DIALECT, **schema}))
