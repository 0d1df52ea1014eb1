"""The expectations a suite can use, as data. Names and arguments are Great Expectations' own; GX is not imported.

A row expectation is about each message and says which messages fail it. An aggregate expectation is about all messages
together, and nothing can be said of a single one. Other distributions bring expectations of their own
(`mqops.outside`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from types import MappingProxyType

from mqops import outside
from mqops.message_checks import NOTHING
from mqops.quality.columns import ColumnKind
from mqops.quality.estate_checks import in_estate


class Takes(Enum):
    """What an argument's value must be."""

    VALUE = "a value of the column's kind"
    VALUES = "a list of values of the column's kind"
    NUMBER = "a number"
    COUNT = "a whole number, 0 or more"
    NOT_NEGATIVE = "a number, 0 or more"
    SHARE = "a number from 0 to 1"
    FLAG = "true or false"
    REGEX = "a regular expression"
    REGEXES = "a list of regular expressions"
    MATCH_ON = "any or all"
    PAIRS = "a list of pairs, one value for each of the two columns"
    QUANTILES = "a block of quantiles (from 0 to 1) and value_ranges (for each a pair of bounds, null for none)"
    METHOD = "iqr or std"
    FORM = "the form of a date, as of strptime, such as '%Y-%m-%d'"
    JSON_SCHEMA = "a file with a JSON Schema, beside the suite"
    QUEUE = "the name of a queue"
    OTHER_COLUMN = "a column"
    FILE = "a CSV or Parquet file, beside the suite or with its whole path; its name may have %Y, %m and %d"
    FILE_COLUMN = "the name of a column of the file"
    XML_SCHEMA = "a file with an XML Schema (XSD), beside the suite"


ANY = frozenset(ColumnKind)
NUMBERS = frozenset({ColumnKind.NUMBER})
TEXTS = frozenset({ColumnKind.TEXT})
SETS = frozenset({ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.FLAG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation.

    Attributes:
        name: GX's name without `expect_`.
        domain: arguments that name columns; `column_list` takes two or more.
        kinds: kinds of column it can be about.
        required: arguments that must be there.
        optional: those that may.
        one_of: of these arguments at least one must be there.
        of_rows: whether it says which messages fail.
        needs_values: whether there is no answer where the column has no value at all.
        probe: the test of `mqops.quality.probes` that finds it; both ways of a check see the column of its answers.
        between: whether it sees other messages, or a file (`mqops.quality.between`), and GX has none like it.
        also: columns that it needs besides; the first one says which message, where it has no column of its own.
        by, by_arguments: the expectation by which it is computed, where that is another one.
        alike: whether its columns are compared with each other, and must be of one kind.
        gx: `module:class` of the expectation of another distribution, for GX's Spark engine; "" for GX's own.
    """

    name: str
    domain: tuple[str, ...] = ("column",)
    kinds: frozenset[ColumnKind] = ANY
    required: Mapping[str, Takes] = field(default_factory=dict)
    optional: Mapping[str, Takes] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    of_rows: bool = False
    needs_values: bool = False
    probe: str = ""
    by: str = ""
    by_arguments: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    between: bool = False
    also: tuple[str, ...] = ()
    alike: bool = False
    gx: str = ""

    @property
    def gx_class(self) -> str:
        """The class of `great_expectations.expectations`, where it is GX's own."""
        return "Expect" + "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def in_gx(self) -> bool:
        """Whether Great Expectations, or the distribution that brings it, has an expectation of this name."""
        return not self.between and (not self.by or self.name == "column_values_to_match_strftime_format")

    @property
    def arguments(self) -> Mapping[str, Takes]:
        """All arguments but those of the domain."""
        return {**self.required, **self.optional}


def _range(takes: Takes) -> dict[str, Takes]:
    return {"min_value": takes, "max_value": takes, "strict_min": Takes.FLAG, "strict_max": Takes.FLAG}


LIMITS = ("min_value", "max_value")
PAIR = ("column_A", "column_B")
OF_NUMBERS = ("max", "min", "mean", "median", "sum", "stdev")
"""What is computed of a column of numbers, and compared with bounds."""


def _of_rows(name: str, kinds: frozenset[ColumnKind] = ANY, **required: Takes) -> Expectation:
    return Expectation(name=f"column_values_to_{name}", kinds=kinds, required=required, of_rows=True)


def _of_columns(
    name: str, domain: tuple[str, ...] = ("column_list",), *, kinds: frozenset[ColumnKind] = SETS, **required: Takes
) -> Expectation:
    """One that looks at several columns of each message."""
    return Expectation(name=name, domain=domain, kinds=kinds, required=required, of_rows=True, alike=not required)


def _between(name: str, takes: Takes, kinds: frozenset[ColumnKind] = ANY, *, of_rows: bool = False) -> Expectation:
    return Expectation(
        name=f"column_{name}_to_be_between",
        kinds=kinds,
        optional=_range(takes),
        one_of=LIMITS,
        of_rows=of_rows,
        needs_values=name in OF_NUMBERS or takes is Takes.SHARE,
    )


def _tested(name: str, probe: str, domain: tuple[str, ...] = ("column",), **required: Takes) -> Expectation:
    """One that a probe finds: no message has the answer false."""
    return Expectation(
        name=name,
        domain=domain,
        kinds=TEXTS,
        required=required,
        of_rows=True,
        probe=probe,
        by="column_values_to_be_in_set",
        by_arguments={"value_set": (True,)},
    )


RUNS, LEAST_RUNS, MOST_RUNS = 10, 3, 30
"""Good runs from which is learned, and of which there must be some, where a suite does not say it; and the newest runs
that are looked at for them."""
_BEFORE = {"runs": Takes.COUNT, "least_runs": Takes.COUNT, "tolerance": Takes.NUMBER}


def _as_before(name: str, kinds: frozenset[ColumnKind] = NUMBERS) -> Expectation:
    """One whose bounds are learned (`mqops.quality.learned`)."""
    domain = () if name.startswith("table") else ("column",)
    of_rows = name == "column_values"
    optional = {one: takes for one, takes in _BEFORE.items() if not (of_rows and one == "tolerance")}
    full = f"{name}_to_be_as_before"
    return Expectation(name=full, domain=domain, kinds=kinds, optional=optional, of_rows=of_rows, between=True)


_IN_QUEUE = {"in_queue": Takes.QUEUE}
_IN_FILE = {"file": Takes.FILE}


def _compared(
    name: str, domain: tuple[str, ...], required: Mapping[str, Takes], kinds: frozenset[ColumnKind] = NUMBERS
) -> Expectation:
    optional = {"in_column": Takes.OTHER_COLUMN} if domain and "in_queue" in required else {}
    by_column = {"file_column": Takes.FILE_COLUMN} if domain and "file" in required else {}
    return Expectation(
        name=name,
        domain=domain,
        kinds=kinds,
        required={**required, **by_column},
        optional=optional,
        of_rows=name.startswith("column_values"),
        between=True,
    )


_ALL = (
    _of_rows("be_null"),
    _of_rows("not_be_null"),
    _of_rows("be_unique"),
    _of_rows("be_in_set", SETS, value_set=Takes.VALUES),
    _of_rows("not_be_in_set", SETS, value_set=Takes.VALUES),
    _of_rows("match_regex", TEXTS, regex=Takes.REGEX),
    _of_rows("not_match_regex", TEXTS, regex=Takes.REGEX),
    replace(_of_rows("match_regex_list", TEXTS, regex_list=Takes.REGEXES), optional={"match_on": Takes.MATCH_ON}),
    _of_rows("not_match_regex_list", TEXTS, regex_list=Takes.REGEXES),
    _of_rows("be_json_parseable", TEXTS),
    replace(_of_rows("not_be_outliers", NUMBERS), optional={"method": Takes.METHOD, "multiplier": Takes.NOT_NEGATIVE}),
    _between("values", Takes.NUMBER, NUMBERS | {ColumnKind.TIME}, of_rows=True),
    _between("value_lengths", Takes.COUNT, TEXTS, of_rows=True),
    Expectation(name="column_value_lengths_to_equal", kinds=TEXTS, required={"value": Takes.COUNT}, of_rows=True),
    Expectation(
        name="column_value_z_scores_to_be_less_than",
        kinds=NUMBERS,
        required={"threshold": Takes.NUMBER, "double_sided": Takes.FLAG},
        of_rows=True,
    ),
    Expectation(name="column_values_to_be_readable", of_rows=True, by="column_values_to_be_null"),
    _tested("column_values_to_be_valid_iban", "iban"),
    _tested("column_values_to_match_strftime_format", "date_form", strftime_format=Takes.FORM),
    _tested("payload_to_match_json_schema", "json_schema", (), schema_file=Takes.JSON_SCHEMA),
    _tested("payload_to_match_xml_schema", "xml_schema", (), schema_file=Takes.XML_SCHEMA),
    Expectation(
        name="groups_to_be_complete",
        domain=(),
        of_rows=True,
        between=True,
        also=("group_id", "msg_seq_number", "msg_flags"),
    ),
    *(_as_before(name) for name in ("table_row_count", "column_max", "column_min", "column_mean")),
    _as_before("column_values", NUMBERS | TEXTS),
    _compared("column_values_to_be_found_in_queue", ("column",), _IN_QUEUE, NUMBERS | TEXTS),
    _compared("column_values_to_be_found_in_file", ("column",), _IN_FILE, NUMBERS | TEXTS),
    _compared("table_row_count_to_equal_queue", (), _IN_QUEUE),
    _compared("table_row_count_to_equal_file", (), _IN_FILE),
    _compared("column_sum_to_equal_queue", ("column",), _IN_QUEUE),
    _compared("column_sum_to_equal_file", ("column",), _IN_FILE),
    Expectation(name="compound_columns_to_be_unique", domain=("column_list",), of_rows=True),
    Expectation(name="column_pair_values_to_be_equal", domain=PAIR, of_rows=True, alike=True),
    _of_columns("column_pair_values_to_be_in_set", PAIR, value_pairs_set=Takes.PAIRS),
    _of_columns("multicolumn_sum_to_equal", kinds=NUMBERS, sum_total=Takes.NUMBER),
    _of_columns("multicolumn_values_to_be_equal"),
    _of_columns("select_column_values_to_be_unique_within_record"),
    Expectation(
        name="column_pair_values_a_to_be_greater_than_b",
        domain=PAIR,
        kinds=frozenset({ColumnKind.NUMBER, ColumnKind.TIME}),
        optional={"or_equal": Takes.FLAG},
        of_rows=True,
        alike=True,
    ),
    Expectation(name="table_row_count_to_be_between", domain=(), optional=_range(Takes.COUNT), one_of=LIMITS),
    Expectation(name="table_row_count_to_equal", domain=(), required={"value": Takes.COUNT}),
    *(_between(what, Takes.NUMBER, NUMBERS) for what in OF_NUMBERS),
    Expectation(
        name="column_quantile_values_to_be_between",
        kinds=NUMBERS,
        required={"quantile_ranges": Takes.QUANTILES},
        needs_values=True,
    ),
    Expectation(
        name="column_most_common_value_to_be_in_set",
        kinds=SETS,
        required={"value_set": Takes.VALUES},
        optional={"ties_okay": Takes.FLAG},
        needs_values=True,
    ),
    _between("unique_value_count", Takes.COUNT),
    _between("proportion_of_unique_values", Takes.SHARE),
    _between("proportion_of_non_null_values", Takes.SHARE),
    *(
        Expectation(name=f"column_distinct_values_to_{verb}_set", kinds=SETS, required={"value_set": Takes.VALUES})
        for verb in ("be_in", "contain", "equal")
    ),
)

EXPECTATIONS: Mapping[str, Expectation] = MappingProxyType({item.name: item for item in _ALL})
"""Every expectation of mqops, by name."""


def from_outside() -> Mapping[str, outside.Outside]:
    """What other distributions and the estate's folder bring. Raises `SettingsError`: the folder cannot be used."""
    installed, here = outside.not_taken(outside.Group.CHECKS, EXPECTATIONS), in_estate()
    for name, one in here.items():
        if name in EXPECTATIONS or name in installed:
            other = installed[name].distribution if name in installed else "mqops"
            raise one.refused(f"has a name that {other} has: give it another one")
    return {**installed, **here}


@cache
def expectation_named(name: str) -> Expectation | None:
    """The expectation of a name, also one of another distribution or of the estate's folder; None where there is none.

    Raises:
        SettingsError: another distribution or the folder brings it, and it cannot be used.
    """
    if name in EXPECTATIONS:
        return EXPECTATIONS[name]
    one = from_outside().get(name)
    if one is None:
        return None
    found = one.load(Expectation)
    if ":" not in found.gx:
        raise one.refused("has no class: gx must be 'module:class'")
    return found


def names() -> tuple[str, ...]:
    """The names of all expectations, those of others behind mqops' own. Raises `SettingsError`, as `from_outside`."""
    return (*EXPECTATIONS, *from_outside())


SEVERITIES = tuple(NOTHING)
"""What a failed expectation means: the run fails, somebody should look, or it is only noted."""
