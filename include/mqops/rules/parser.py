"""From text to table: every entry is parsed, typed and checked; nothing stops at the first error (D07, D09)."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mqops.actions import Action
from mqops.rules.conditions import Condition, condition_of
from mqops.rules.keyword import CONDITIONS, Entry, Keyword
from mqops.rules.keywords import KEYWORDS, keywords_of, not_loaded
from mqops.rules.lines import HEADER, EntryText, Source
from mqops.rules.linter import CATCH_ALL, Written, warnings_of
from mqops.rules.model import Control, Parsed, Rule, Table, rule_keys
from mqops.rules.problem import Problem
from mqops.rules.syntax import EntryParser, Pair
from mqops.rules.values import BadValue, seconds_of, typed

NO_INPUT, TWICE, COMBINATION = 8750, 8753, 8759
_TWICE = "remove one, or begin a line for another rule"
_TO_CONTROL = "move it to the first entry of the table"
_NOT_STRICT = "this line allows extensions, and --strict takes only what IBM's handler knows: remove it, or --strict"
_FWDQ_OR_ORIGIN = replace(KEYWORDS["FWDQ"], choices=(*KEYWORDS["FWDQ"].choices, "&ORIGQ"))


def parse(
    text: str, *, source: str = "<rules>", strict: bool = False, origins: bool = False, lint: bool = True
) -> Parsed:
    """Reads a rules table.

    Parameters: `source` names the text in messages; `strict` refuses everything that is not IBM's; `origins` whether
    FWDQ may be &ORIGQ, as in tables for backout queues (`mqops.backout.core.origin`), unless `strict`; `lint`
    whether warnings are wanted, which take some work. Returns a table, or every error in the order of the text;
    warnings only for a valid table. Raises nothing.
    """
    lines = Source(text)
    extended = lines.header()
    keywords = keywords_of(extensions=bool(extended) and not strict)
    if origins and not strict:
        keywords["FWDQ"] = _FWDQ_OR_ORIGIN
    entries, problems = lines.entries()
    if extended and strict:
        problems.append(lines.problem((extended, 1), _NOT_STRICT))
    control = Control()
    written: list[Written] = []
    for number, entry in enumerate(entries):
        behind = entries[number - 1].places[-1][0] if number and not written else 0
        reader = _EntryReader(lines, keywords, entry.place(0))
        reader.read(entry, first=number == 0, behind=behind)
        problems += reader.problems
        if reader.is_control:
            control = reader.control()
        else:
            written.append(reader.rule(index=len(written)))
    if not (written or lines.is_unread):
        problems.append(lines.problem((len(lines.lines), 1), f"no rule: add one, such as {CATCH_ALL}", NO_INPUT))
    if problems:
        return Parsed(source=source, table=None, errors=_in_order(problems), warnings=())
    keys = rule_keys([w.rule for w in written])
    written = [replace(w, rule=replace(w.rule, key=key)) for w, key in zip(written, keys, strict=True)]
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    questions = {condition.question for w in written for condition in w.rule.extensions}
    rules = tuple(w.rule for w in written)
    table = Table(control=control, rules=rules, digest=digest, questions=tuple(sorted(questions)))
    warnings = _in_order(warnings_of(written, control, lines)) if lint else ()
    return Parsed(source=source, table=table, errors=(), warnings=warnings)


OF_HEADERS = ("DESTQ", "DESTQM", "REASON")
"""Patterns for what an MQDLH has."""


def message_keywords() -> dict[str, Keyword]:
    """What conditions may ask of a message itself, whatever the time is."""
    return {
        name: keyword
        for name, keyword in keywords_of(extensions=True).items()
        if keyword.entry is Entry.PATTERN and name not in OF_HEADERS and not keyword.changes
    }


def parse_conditions(text: str, *, index: int = 0) -> tuple[Rule | None, tuple[Problem, ...]]:
    """Conditions on a message, without an action: patterns and extensions of a rules table, on one line.

    Parameters: `index` of the rule that has them. Returns a rule, or every error in the order of the text. Raises
    nothing.
    """
    source = Source(text)
    entries, problems = source.entries()
    first, *more = (*entries, None)
    if first is None:
        problems = problems or [source.problem((1, 1), f"no condition: write one, such as {CONDITION}")]
        return None, _in_order(problems)
    if len(more) > 1:
        problems.append(source.problem(entries[1].place(0), "the conditions go on in another line: write them on one"))
    reader = _ConditionReader(source, message_keywords(), first.place(0))
    reader.read(first, first=True, behind=0)
    problems += reader.problems
    return (None if problems else reader.rule(index=index).rule), _in_order(problems)


CONDITION = "FORMAT(MQSTR)"


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    place: tuple[int, int]
    value: str | int | Condition | None


class _EntryReader:
    """One entry: `read` it once, then ask for its `problems` and its `control` data or its `rule`."""

    def __init__(self, source: Source, keywords: Mapping[str, Keyword], place: tuple[int, int]) -> None:
        self._source = source
        self._keywords = keywords
        self._place = place
        self._given: dict[str, _Given] = {}
        self._meant: set[str] = set()
        self._conditions: list[Condition] = []
        self.problems: list[Problem] = []
        self.is_control = False

    def read(self, entry: EntryText, *, first: bool, behind: int) -> None:
        """Types the pairs of the entry, then checks them together.

        Parameters: `first` whether it is the first entry of the table; `behind` the last line of the control data just
        before it, or 0.
        """
        parser = EntryParser(entry, self._source)
        pairs = parser.pairs()
        self.problems += parser.problems
        parts = [part for pair in pairs if (part := _part(pair, self._keywords)) is not None]
        self.is_control = bool(parts) and all(part is Entry.CONTROL for part in (parts[:1] if first else parts))
        if self.is_control and not first:
            remedy = f"put a + at the end of line {behind}, so that it goes on here" if behind else "move this there"
            self._error(self._place, f"control data must be the first entry of the table: {remedy}")
        for pair in pairs:
            self._take(pair)
        if not self.is_control:
            self._check_rule()

    def _error(self, place: tuple[int, int], message: str, number: int = 0) -> None:
        self.problems.append(self._source.problem(place, message, number))

    def _take(self, pair: Pair) -> None:
        keyword = self._keywords.get(pair.keyword)
        if keyword is None:
            self._extension(pair) if pair.keyword in KEYWORDS else self._unknown(pair)
            return
        if (keyword.entry is Entry.CONTROL) is not self.is_control:
            other, remedy = ("control data", "begin a line with it") if self.is_control else ("a rule", _TO_CONTROL)
            self._error(
                pair.place, f"{pair.keyword} belongs to {keyword.entry.value} and cannot stand in {other}: {remedy}"
            )
        given = _Given(place=pair.place, value=self._typed(keyword, pair))
        if keyword.kind in CONDITIONS:
            self._condition(pair, given)
        elif self._given.setdefault(pair.keyword, given) is not given:
            self._error(pair.place, f"{pair.keyword} stands in this entry twice: {_TWICE}", TWICE)

    def _condition(self, pair: Pair, given: _Given) -> None:
        """Conditions may be many, so that AGE(>1h) AGE(<1d) is a range."""
        self._given.setdefault(pair.keyword, given)
        if given.value in self._conditions:
            self._error(pair.place, f"{pair.keyword} stands in this entry twice, and says the same: remove one", TWICE)
        elif isinstance(given.value, Condition):
            self._conditions.append(given.value)

    def _extension(self, pair: Pair) -> None:
        other = "--strict" if self._source.header() else f"begin the table with the line {HEADER!r}"
        message = f"{pair.keyword} is an extension that IBM's handler does not know: remove it, or {other}"
        self._error(pair.place, message)

    def _unknown(self, pair: Pair) -> None:
        why = not_loaded().get(pair.keyword)
        if why is not None or pair.keyword in KEYWORDS:  # another distribution's, and no header line of extensions
            return self._error(pair.place, why) if why else self._extension(pair)
        nearest = _nearest(pair.keyword, self._keywords)
        self._meant.update(nearest)
        remedy = f"did you mean {nearest[0]}?" if nearest else f"use one of {', '.join(self._keywords)}"
        self._error(pair.place, f"{pair.keyword!r} is not a keyword of a rules table: {remedy}")

    def _typed(self, keyword: Keyword, pair: Pair) -> str | int | Condition | None:
        if pair.value is None:
            return None
        try:
            if keyword.kind in CONDITIONS:
                return condition_of(keyword, pair.value.tokens)
            return typed(keyword, pair.value.text, quoted=pair.value.quoted)
        except BadValue as bad:
            self._error(bad.place or pair.value.place, str(bad), bad.number)
            return None

    def _check_rule(self) -> None:
        """Combinations. A keyword whose value was wrong, or that was misspelt, is not reported missing as well."""
        action = self._value("ACTION")
        if "ACTION" not in self._given and "ACTION" not in self._meant and (self._given or self._meant):
            self._error(self._place, "this rule has no ACTION: add ACTION(DISCARD), (IGNORE), (RETRY) or (FWD)")
        if action is None:
            return
        if action == Action.FWD and "FWDQ" not in self._given and "FWDQ" not in self._meant:
            self._error(self._given["ACTION"].place, "ACTION(FWD) needs a queue: add FWDQ(name)", COMBINATION)
        for name, given in self._given.items():
            actions = self._keywords[name].only_with
            if actions and action not in actions:
                wanted = " or ".join(f"ACTION({one})" for one in actions)
                message = f"{name} is not for ACTION({action}): remove it, or make the action {wanted}"
                self._error(given.place, message, COMBINATION)

    def _value(self, keyword: str) -> Any:
        given = self._given.get(keyword)
        return None if given is None else given.value

    def control(self) -> Control:
        """The control data as far as it was valid."""
        values = {name.lower(): given.value for name, given in self._given.items() if given.value is not None}
        return Control(**{name: value for name, value in values.items() if name in Control.__slots__})  # type: ignore[arg-type]

    def rule(self, *, index: int) -> Written:
        """The rule as far as it was valid, its key still to be given."""
        patterns = {
            name: given.value
            for name, given in self._given.items()
            if isinstance(given.value, str | int) and self._keywords[name].entry is Entry.PATTERN
        }
        rule = Rule(
            index=index,
            line=self._place[0],
            key="",
            patterns=patterns,
            extensions=tuple(self._conditions),
            action=Action(self._value("ACTION") or Action.IGNORE),
            fwdq=self._value("FWDQ") or "",
            fwdqm=self._value("FWDQM") or "",
            header=self._value("HEADER") != "NO" and self._value("ACTION") == Action.FWD,
            putaut=self._value("PUTAUT") or "DEF",
            retry=self._value("RETRY") or 1,
            canary=self._value("CANARY") or 0,
            pace=self._value("PACE") or 0,
            max_replay=self._value("MAXREPLAY") or 0,
            backoff=seconds_of(self._value("BACKOFF") or ""),
            order=self._value("ORDER") or "",
        )
        action = self._given.get("ACTION")
        return Written(rule=rule, place=self._place, action_place=action.place if action else self._place)


class _ConditionReader(_EntryReader):
    """One entry of conditions alone."""

    def _extension(self, pair: Pair) -> None:
        keyword = KEYWORDS[pair.keyword]
        why = "changes while a message stays on its queue" if keyword.changes else "asks nothing of a message itself"
        self._error(pair.place, f"{pair.keyword} {why}: use one of {', '.join(self._keywords)}")

    def _check_rule(self) -> None:
        """Conditions need no action."""


def _nearest(word: str, keywords: Mapping[str, Keyword]) -> list[str]:
    return difflib.get_close_matches(word, keywords, n=1)


def _part(pair: Pair, keywords: Mapping[str, Keyword]) -> Entry | None:
    """Which part of the table a pair belongs to; a misspelt keyword counts as the one it is nearest to."""
    if pair.keyword in KEYWORDS:
        return KEYWORDS[pair.keyword].entry
    nearest = _nearest(pair.keyword, keywords)
    return keywords[nearest[0]].entry if nearest else None
