"""YAML text to a plain JSON value, by the rules of YAML 1.2's core schema.

We build values from the parser's events ourselves. PyYAML's own loader follows YAML 1.1, where
`no` is false and `2024-01-01` is a date, recurses as deep as the text does, drops repeated keys
silently, and unfolds aliases without a bound.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, cast

import yaml

from windlass.dialects.plain import is_list, is_object


class Mark(Protocol):
    """A place in a text, counted from 0; PyYAML has two classes of them."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class YamlProblem(ValueError):
    """The text is not the YAML of one plain value; the message names line and column."""

    def __init__(self, mark: Mark | None, reason: str, hint: str = "") -> None:
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        super().__init__(place + reason)
        self.hint = hint


def parse_yaml(text: str, *, depth_max: int, values_max: int) -> object:
    """The one value of a YAML text; an empty text is null."""
    builder = _Builder(depth_max, values_max)
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        reason = error.problem or error.context or "is not YAML"
        raise YamlProblem(error.problem_mark or error.context_mark, reason) from error
    except yaml.YAMLError as error:
        raise YamlProblem(None, f"is not YAML: {error}") from error
    return builder.result


def _events(text: str) -> Iterator[yaml.Event]:
    # libyaml's parser is tenfold faster; both give the same events.
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    parsed = yaml.parse(text, Loader=loader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("Iterator[yaml.Event]", parsed)  # the stub of `parse` leaves its types open


@dataclass(slots=True)
class _Open:
    """A list or object whose end is still to come."""

    value: dict[str, object] | list[object]
    anchor: str | None
    key: str | None = None
    merged: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    """Objects given by `<<`: they fill in what the object does not say itself."""


class _Builder:
    def __init__(self, depth_max: int, values_max: int) -> None:
        self.result: object = None
        self._documents = 0
        self._depth_max = depth_max
        self._values_left = values_max
        self._open: list[_Open] = []
        # An anchor is known from the end of its value on, so no value can contain itself.
        self._anchors: dict[str, object] = {}

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise YamlProblem(event.start_mark, "a second document starts here")
            case yaml.MappingStartEvent():
                self._enter({}, event)
            case yaml.SequenceStartEvent():
                self._enter([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._leave(event)
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.AliasEvent():
                self._alias(event)
            case _:
                pass

    def _enter(
        self,
        value: dict[str, object] | list[object],
        event: yaml.MappingStartEvent | yaml.SequenceStartEvent,
    ) -> None:
        if self._awaits_key():
            raise YamlProblem(event.start_mark, "a key must be plain text")
        if event.tag not in (None, "!", _TAG + "map", _TAG + "seq"):
            raise YamlProblem(event.start_mark, f"the tag {event.tag} is not known here")
        if len(self._open) >= self._depth_max:
            raise YamlProblem(event.start_mark, f"nested deeper than {self._depth_max} levels")
        self._open.append(_Open(value, event.anchor))

    def _leave(self, event: yaml.Event) -> None:
        done = self._open.pop()
        if isinstance(done.value, dict):
            for source in done.merged:
                self._spend(len(source), event)
                for key, item in source.items():
                    done.value.setdefault(key, item)
        self._place(done.value, done.anchor, event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self._awaits_key():
            self._take_key(event.value, event)
            return
        plain = bool(event.implicit[0])
        try:
            value = _resolve(event.value, event.tag, plain)
        except ValueError as error:
            raise YamlProblem(event.start_mark, str(error)) from error
        self._place(value, event.anchor, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if self._awaits_key():
            raise YamlProblem(event.start_mark, "a key must be plain text")
        if event.anchor not in self._anchors:
            raise YamlProblem(event.start_mark, f'no finished value is anchored "{event.anchor}"')
        self._place(self._anchors[event.anchor], None, event)

    def _awaits_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and self._open[-1].key is None
        )

    def _take_key(self, key: str, event: yaml.Event) -> None:
        top = self._open[-1]
        if key in top.value:
            hint = "rename or remove one of them; only the last would count"
            raise YamlProblem(event.start_mark, f'the key "{key:.60}" stands twice', hint)
        top.key = key

    def _place(self, value: object, anchor: str | None, event: yaml.Event) -> None:
        self._spend(1, event)
        if anchor:
            self._anchors[anchor] = value
        if not self._open:
            self.result = value
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key == "<<":
            top.merged.extend(_mergeable(value, event))
        elif top.key is not None:
            top.value[top.key] = value
        top.key = None

    def _spend(self, values: int, event: yaml.Event) -> None:
        self._values_left -= values
        if self._values_left < 0:
            raise YamlProblem(event.start_mark, "holds too many values", "use fewer merges")


def _mergeable(value: object, event: yaml.Event) -> list[dict[str, object]]:
    sources = value if is_list(value) else [value]
    objects = [source for source in sources if is_object(source)]
    if len(objects) < len(sources):
        raise YamlProblem(event.start_mark, "<< takes an object or a list of objects")
    return objects


_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", _TAG + "str"})
_SCALAR_TAGS = _TEXT_TAGS | {_TAG + name for name in ("null", "bool", "int", "float")}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DIGITS_MAX = 400
"""Beyond any number a double holds; Python refuses to read integers from some length on."""


def _resolve(text: str, tag: str | None, plain: bool) -> object:
    """What a scalar means: its tag says so, or, for plain text, how it looks."""
    if tag is not None and tag not in _SCALAR_TAGS:
        raise ValueError(f"the tag {tag} is not known here")
    if tag in _TEXT_TAGS or (tag is None and not plain):
        return text
    if text in _NULLS:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if len(text) > _DIGITS_MAX:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
