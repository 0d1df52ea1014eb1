"""A YAML settings file whose every value knows its line: loaded safely, duplicate keys refused, checked by pydantic.

It knows nothing of what the settings mean (that is `mqops.estate`); it turns whatever is wrong with a file into
`Problem`s that name file, line and field, all of them at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

FieldPath = tuple[str, ...]
M = TypeVar("M", bound=BaseModel)

# pydantic's error type → our wording; {found} is the value, the other names come from pydantic's own context.
WORDING = {
    "missing": "is required",
    "string_type": "must be text (found {found}); put it in quotes",
    "int_type": "must be a whole number (found {found})",
    "bool_type": "must be true or false (found {found})",
    "greater_than_equal": "must be at least {ge} (found {found})",
    "less_than_equal": "must be at most {le} (found {found})",
    "literal_error": "must be one of {expected} (found {found})",
    "model_type": "must be a block of keys (found {found})",
    "dict_type": "must be a block of keys (found {found})",
    "tuple_type": "must be a list (found {found})",
    "too_short": "must not be empty",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a settings file.

    `line` counts from 1; `field` is the dotted path of the value, as it is shown; `path` the value's place, () where
    the whole file is wrong.
    """

    source: str
    line: int
    field: str
    message: str
    path: FieldPath = ()

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}"
        return f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"


@dataclass(slots=True)
class Document:
    """The values of one YAML text, with the line of each key and value.

    Attributes:
        source: name of the file, for error texts.
        value: what the text holds (safe types only), or None where it could not be read. A value that YAML cannot make
            is text in it, of a key that stands twice it has the last value; both are among the problems.
        lines: path of a value → its line, from 1.
        problems: what is wrong: first with the YAML itself; where nothing is, what `check` finds.
        unread: places of values that were wrong as YAML.
    """

    source: str
    value: Any = None
    lines: dict[FieldPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unread: tuple[FieldPath, ...] = ()

    def problem(self, path: FieldPath, message: str) -> Problem:
        """A problem at `path`, with the line of the nearest value that the file has."""
        known = next((path[:n] for n in range(len(path), -1, -1) if path[:n] in self.lines), None)
        line = self.lines[known] if known is not None else 1
        return Problem(source=self.source, line=line, field=".".join(path), message=message, path=path)

    def check(self, model: type[M]) -> M | None:
        """The document as `model`; None, and every error among `problems`, where it does not fit."""
        return None if self.problems else self.fit(model, self.value if self.value is not None else {})

    def fit(self, model: type[M], value: object, at: FieldPath = (), context: object = None) -> M | None:
        """The value that stands `at` a place, as `model`; None, and every error among `problems`, where it does not
        fit. Parameters: `context` for the model's validators."""
        try:
            return model.model_validate(value, context=context)
        except ValidationError as error:
            for item in error.errors(include_url=False):
                path = tuple(str(part) for part in item["loc"] if part != "[key]")
                self.problems.append(self.problem((*at, *path), wording(item, path, model)))
            self.problems.sort(key=lambda problem: problem.line)
            return None


ALIAS, MERGE, TEXT = "alias", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"
PLAIN: dict[type[yaml.Node], str] = {
    yaml.ScalarNode: TEXT,
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
    yaml.MappingNode: "tag:yaml.org,2002:map",
}
"""Kind of node → the tag of what it holds where its own is refused."""


class _Loader(yaml.SafeLoader):
    """Plain YAML types, and no aliases (`*name`): a few nested ones stand for millions of values.

    An alias becomes a value with the tag ALIAS, which `walk` refuses where it stands: the rest of the file can be read.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            return yaml.ScalarNode(ALIAS, event.anchor, event.start_mark, event.end_mark)
        return super().compose_node(parent, index)

    def refused(self, node: yaml.Node) -> str:
        """Why a value is not made, "" where it is."""
        if node.tag == ALIAS:
            return f"not valid YAML: the alias *{node.value} is not allowed: write the value itself"
        if node.tag == MERGE:
            return "not valid YAML: << is not allowed: write the keys themselves"
        if node.tag not in self.yaml_constructors:
            return f"not valid YAML: could not determine a constructor for the tag {node.tag!r}"
        return self._problem_of(node) if isinstance(node, yaml.ScalarNode) else ""

    def _problem_of(self, node: yaml.ScalarNode) -> str:
        """What is wrong with a text that is to be a value of its tag. PyYAML tells some of it by errors of no class of
        its own: `!!bool maybe`, `!!int ''`, `!!timestamp soon`."""
        try:
            str(self.yaml_constructors[node.tag](self, node))  # a number of too many digits has no text
        except yaml.MarkedYAMLError as error:
            return f"not valid YAML: {' '.join(filter(None, (error.context, error.problem)))}"
        except ValueError as error:  # a well-formed scalar that is not a value, such as the date 2026-13-01
            return f"not a valid value: {error}"
        except (LookupError, AttributeError):
            return f"not a valid value: {node.value!r} is no {node.tag.rpartition(':')[2]}"
        return ""


def read(text: str, *, source: str) -> Document:
    """The document in `text`. Only plain YAML types are made; no tag can run code.

    Args:
        text: the file's content.
        source: its name, for error texts.
    """
    document = Document(source=source)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return document
        walk(node, (), document, loader)
        document.value = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(filter(None, (error.context, error.problem)))
        line = mark.line + 1 if mark else 1
        document.problems.append(Problem(source=source, line=line, field="", message=f"not valid YAML: {what}"))
    except yaml.reader.ReaderError as error:  # the only other one: a character that no YAML file may have
        line, what = text.count("\n", 0, error.position) + 1, f"the character U+{ord(text[error.position]):04X}"
        message = f"not valid YAML: {what} is not allowed"
        document.problems.append(Problem(source=source, line=line, field="", message=message))
    except RecursionError:
        document.problems.append(Problem(source=source, line=1, field="", message="it is nested too deeply"))
    document.unread = tuple(problem.path for problem in document.problems)
    return document


def walk(node: yaml.Node, path: FieldPath, document: Document, loader: _Loader) -> None:
    """Note the line of `node` and of all below it; refuse duplicate keys, and values that are not plain."""
    document.lines.setdefault(path, node.start_mark.line + 1)
    _make_plain(node, path, document, loader)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            walk(item, (*path, str(index)), document, loader)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            here = (*path, name)
            _make_plain(key, here, document, loader)
            if name in seen:
                again = "stands here a second time"
                document.problems.append(
                    Problem(source=document.source, line=line, field=".".join(here), message=again, path=here)
                )
            seen.add(name)
            document.lines[here] = line
            walk(value, here, document, loader)


def _make_plain(node: yaml.Node, path: FieldPath, document: Document, loader: _Loader) -> None:
    """Tell that a value is refused, and have what it holds read as it stands: what is valid beside it can be used."""
    if why := loader.refused(node):
        line = node.start_mark.line + 1
        document.problems.append(Problem(source=document.source, line=line, field="", message=why, path=path))
        node.tag = PLAIN[type(node)]


def wording(item: ErrorDetails, path: FieldPath, model: type[BaseModel]) -> str:
    """What to tell the user about one pydantic error."""
    kind, context = item["type"], dict(item.get("ctx") or {})
    if kind == "extra_forbidden":
        return unknown_key(path[-1], sorted(known_keys(model, path[:-1])))
    if kind == "value_error":
        return str(context["error"])
    if kind in WORDING:
        return WORDING[kind].format(**context, found=found(item["input"]))
    return f"{item['msg']} (found {found(item['input'])})"


def found(value: object) -> str:
    """The offending value, short."""
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def unknown_key(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(known)}"
    return f"is not a known key{hint}"


def known_keys(model: type[BaseModel], path: FieldPath) -> Iterator[str]:
    """Keys that the model at `path` below `model` has."""
    current: type[BaseModel] | None = model
    for part in path:
        if current is None:
            return
        if part in current.model_fields:
            annotation = current.model_fields[part].annotation
            nested = list(models_in(annotation))
            current = nested[0] if nested else None
        # else: a key of a mapping whose values are that model
    if current is not None:
        yield from current.model_fields


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Model classes inside a type such as `dict[str, Model]` or `Model | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from models_in(argument)
