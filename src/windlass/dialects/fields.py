"""Typed reads of a definition's objects, which note problems and go on instead of raising.

A read that finds the wrong thing notes it and answers with the default, so one pass over a
definition finds everything that is wrong with it. Whoever lowers may therefore build half-right
values: they are thrown away with the problems that explain them.
"""

import difflib
import json
from collections.abc import Collection, Iterable
from typing import TypeVar

from windlass.dialects.plain import is_list, is_object, under
from windlass.model.errors import DefinitionError, Problem

T = TypeVar("T")

DESCRIPTIVE = frozenset({"description", "name", "title", "ui", "position", "choice_key"})
"""Fields for people and editors; they change nothing here."""

WHOLE_MAX = 2**53 - 1
"""The largest whole number every JSON reader gets right, and more milliseconds than we need."""


NAME_CHARS_MAX = 200
NAME_BYTES_MAX = 600
"""Names become parts of index entries, of which PostgreSQL takes no more than 2,700 bytes."""

LISTED_MAX = 1000
"""Problems listed one by one; a text that is no flow at all must not become a book of them."""

_HINTED_MAX = 100
_CANDIDATES_MAX = 500
"""Finding the closest word costs time, so only so many problems and candidates get it."""


class Problems:
    """Everything found wrong with one definition so far."""

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self.warnings: list[Problem] = []
        """What is odd but can be run; with `strict` it is a problem like any other."""
        self._found: list[Problem] = []
        self._places: set[str] = set()
        self._unlisted = 0

    def add(self, where: str, reason: str, hint: str = "") -> None:
        self._places.add(where)
        if len(self._found) < LISTED_MAX:
            self._found.append(Problem(where or "definition", reason, hint))
        else:
            self._unlisted += 1

    def warn(self, where: str, reason: str, hint: str = "") -> None:
        """Note what its author may not have meant, though it has a meaning."""
        if self._strict:
            self.add(where, reason, hint)
        elif len(self.warnings) < LISTED_MAX:
            self.warnings.append(Problem(where or "definition", reason, hint))

    def noted(self, where: str) -> bool:
        """Whether a place has a problem already, so that what follows from it need not be said."""
        return where in self._places

    def wrong_type(self, where: str, value: object, expected: str) -> None:
        self.add(where, f"{_described(value)}, expected {expected}")

    def closest(self, word: str, known: Collection[str]) -> str:
        """A hint naming the known word closest to one that is not, or nothing."""
        if len(word) > 64 or len(known) > _CANDIDATES_MAX or len(self._found) > _HINTED_MAX:
            return ""
        close = difflib.get_close_matches(word, sorted(known), n=1)
        return f'did you mean "{close[0]}"?' if close else ""

    def raise_if_any(self) -> None:
        if self._unlisted:
            reason = f"{self._unlisted} more problems are not listed"
            raise DefinitionError([*self._found, Problem("definition", reason)])
        if self._found:
            raise DefinitionError(self._found)


class Fields:
    """One object of a definition. Names match whatever their case; null counts as absent."""

    def __init__(
        self, value: object, where: str, known: Collection[str], problems: Problems
    ) -> None:
        self.where = where
        self.problems = problems
        self._values: dict[str, object] = {}
        self._spelt: dict[str, str] = {}
        if is_object(value):
            for name, item in value.items():
                self._take(name, item, known)
        elif value is not None:
            problems.wrong_type(where, value, "an object")

    def _take(self, name: str, item: object, known: Collection[str]) -> None:
        plain = name.lower()
        if plain in self._values:
            first = self._spelt[plain]
            self.problems.add(under(self.where, name), f'the same field as "{first}"')
        elif plain in known:
            self._values[plain] = item
            self._spelt[plain] = name
        elif plain not in DESCRIPTIVE and not plain.startswith("x-"):
            hint = (
                self.problems.closest(plain, known)
                or "start its name with x- to keep a note of your own"
            )
            self.problems.add(under(self.where, name), "this field is not known here", hint)

    def at(self, name: str) -> str:
        """The problem path of a field, as its author spelt it."""
        return under(self.where, self._spelt.get(name, name))

    def raw(self, name: str) -> object:
        return self._values.get(name)

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def within(self, name: str, known: Collection[str]) -> "Fields":
        """The fields of an object in this one."""
        return Fields(self.raw(name), self.at(name), known, self.problems)

    def text(self, name: str) -> str:
        value = self.raw(name)
        if isinstance(value, str):
            return value
        return self._default(name, "text", "")

    def name(self, name: str) -> str:
        """A text that becomes part of a key of ours, in whatever database there is."""
        word = self.text(name)
        self.check_name(word, self.at(name))
        return word

    def check_name(self, word: str, where: str) -> None:
        size = len(word.encode())
        if len(word) > NAME_CHARS_MAX or size > NAME_BYTES_MAX:
            reason = f"a name of {len(word)} characters ({size} bytes) is too long"
            hint = f"at most {NAME_CHARS_MAX} characters and {NAME_BYTES_MAX} bytes"
            self.problems.add(where, reason, hint)

    def one_of(self, name: str, allowed: Collection[str]) -> str:
        """A word out of a few; empty if it is absent or none of them."""
        word = self.text(name)
        if word and word not in allowed:
            hint = self.problems.closest(word, allowed) or "one of " + ", ".join(sorted(allowed))
            self.problems.add(self.at(name), f'"{word:.60}" is not known here', hint)
            return ""
        return word

    def flag(self, name: str) -> bool:
        value = self.raw(name)
        return value if isinstance(value, bool) else self._default(name, "true or false", False)

    def whole(self, name: str, default: int = 0, *, low: int = 0) -> int:
        value = self.raw(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number: 3.0 is 3
        if not isinstance(value, int) or isinstance(value, bool):
            return self._default(name, "a whole number", default)
        return value if self._in_range(name, value, low, WHOLE_MAX) else default

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        value = self.raw(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return self._default(name, "a number", default)
        return float(value) if self._in_range(name, value, low, high) else default

    def mapping(self, name: str) -> dict[str, object]:
        value = self.raw(name)
        return value if is_object(value) else self._default(name, "an object", {})

    def items(self, name: str) -> list[object]:
        value = self.raw(name)
        return value if is_list(value) else self._default(name, "a list", [])

    def texts(self, name: str) -> list[str]:
        return only_texts(self.items(name), self.at(name), self.problems)

    def text_mapping(self, name: str) -> dict[str, str]:
        """An object whose values are all text."""
        texts: dict[str, str] = {}
        for key, value in self.mapping(name).items():
            if isinstance(value, str):
                texts[key] = value
            else:
                self.problems.wrong_type(under(self.at(name), key), value, "text")
        return texts

    def _in_range(self, name: str, value: float, low: float, high: float) -> bool:
        if low <= value <= high:
            return True
        bound = f"at least {low:g}" if value < low else f"at most {high:.16g}"
        self.problems.add(self.at(name), f"{shown_number(value)} is out of range, expected {bound}")
        return False

    def _default(self, name: str, expected: str, default: T) -> T:
        if self.has(name):
            self.problems.wrong_type(self.at(name), self.raw(name), expected)
        return default


def only_texts(values: Iterable[object], where: str, problems: Problems) -> list[str]:
    """The strings of a list, with a problem for every other thing in it."""
    texts: list[str] = []
    for index, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
        else:
            problems.wrong_type(under(where, index), value, "text")
    return texts


def _described(value: object) -> str:
    match value:
        case None:
            return "null is given"
        case bool():
            return f"{json.dumps(value)} is a boolean"
        case int() | float():
            return f"{shown_number(value)} is a number"
        case str():
            shown = value if len(value) <= 40 else value[:39] + "…"
            return f"{json.dumps(shown, ensure_ascii=False)} is a string"
        case _:
            return "this is a list" if is_list(value) else "this is an object"


def shown_number(number: float) -> str:
    """A number for people to read."""
    # Python refuses to print integers from some length on, and nobody wants to read them.
    huge = isinstance(number, int) and abs(number) > 10**20
    return "a huge number" if huge else str(number)
