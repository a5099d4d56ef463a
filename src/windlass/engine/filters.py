"""The filter grammar of lists, one for UI, CLI and API.

`status:failed,waiting flow:review-* started:>-2h -status:cancelled error:"timeout" bareword`:
words are joined by and, commas by or, `-` negates, a bare word is the beginning of an id or of a
flow's name. An unknown key is an error rather than ignored.
"""

import json
import re
from typing import NamedTuple

from windlass.model.errors import BadRequest
from windlass.model.states import RunState
from windlass.ports.store import TAG_CHARS, Cond, Store

_WORD = re.compile(r'(-)?(?:([a-z]+):)?("(?:[^"\\]|\\.)*"|[^\s"]+)')
_SPAN = re.compile(r"([0-9]{1,9})(ms|s|m|h|d|w)")
_MILLISECONDS = re.compile(r"[0-9]{1,15}")
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_TIMES = {"started": "created_at", "created": "created_at", "finished": "finished_at"}
_TIMES["updated"] = "updated_at"
_CONDITIONS_MAX = 50
"""Each is one more level of the query, of which SQLite takes a thousand."""
_NAMES_MAX = 200
"""Names of more flows, or more tags, than this begin alike; then each run is looked at."""
_LAST = "\U0010ffff"
"""Stands after whatever a name goes on with."""
KEYS = ("status", "flow", "version", "project", "tag", "error", "node", *_TIMES)


class Word(NamedTuple):
    """One part of a filter."""

    key: str
    """"" of a bare word."""
    value: str
    negated: bool


async def found_by(store: Store, text: str) -> list[Cond]:
    """The conditions a filter stands for, with what there is of flows and tags that it names the
    beginning of: their runs are found by index then, as those of a whole name are."""
    words = words_of(text)
    conditions = run_conditions(text, store.now())
    for word in words:
        between = _names_between(word)
        if between is None:
            continue
        query, column, op, low, high = between
        rows = await store.query(query, low=low, high=high, count_max=_NAMES_MAX + 1)
        if len(rows) <= _NAMES_MAX:
            conditions.append(Cond(column, op, [row["name"] for row in rows]))
    return conditions


def words_of(text: str) -> list[Word]:
    words: list[Word] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise BadRequest(f'cannot read the filter at "{text[at:]}"; close the quote?')
        negated, key, value = match.groups()
        value = value[1:-1].replace('\\"', '"') if value.startswith('"') else value
        words.append(Word(key or "", value, bool(negated)))
        if len(words) > _CONDITIONS_MAX:
            raise BadRequest(f"a filter has at most {_CONDITIONS_MAX} conditions")
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return words


def run_conditions(text: str, now: int) -> list[Cond]:
    """The conditions a filter stands for."""
    return [cond for word in words_of(text) for cond in _condition(word, now)]


def _names_between(word: Word) -> tuple[str, str, str, str, str] | None:
    """Which names a word is about, from one to before another, and what becomes of them."""
    key, value, _ = word
    begins = value.partition("*")[0]
    if key == "tag":
        name, given, wanted = value.partition("=")
        low = f"{name}={wanted.partition('*')[0]}"[:TAG_CHARS]
        is_whole = given and "*" not in wanted
        return "tags_between", "tags", "tagged", low, low + ("\x01" if is_whole else _LAST)
    by_name = (key == "flow" and "*" in value) or (not key and not _is_id(value))
    if not by_name or not begins:
        return None
    return "flow_names", "flow_name", "in", begins, begins + _LAST


def _condition(word: Word, now: int) -> list[Cond]:
    key, value, negated = word
    if not key and negated:
        raise BadRequest(f'"-{value}" has no key; only "-status:" can be negated')
    if not key:
        return _bare(value)
    if key == "status":
        return [_status(value, negated)]
    if negated:
        raise BadRequest(f'"-{key}:" is not supported; only "-status:" can be negated')
    if key == "flow":
        pattern = _escape(value).replace("*", "%")
        return [
            Cond("flow_name", "like", pattern) if "*" in value else Cond("flow_name", "=", value)
        ]
    if key == "tag":
        return [Cond("tags", "like", _tag_pattern(value))]
    if key == "project":
        return [Cond("project", "=", value)]
    if key == "version":
        return [Cond("version_id", "=", value)]
    if key == "error":
        return [Cond("error", "not null"), Cond("error", "like", f"%{_escape(value)}%")]
    if key == "node":
        return [Cond("node", "like", f"%{_escape(value)}%")]
    if key in _TIMES:
        return [_time(_TIMES[key], key, value, now)]
    raise BadRequest(f'no filter "{key}:"; there are {", ".join(KEYS)}')


def _bare(value: str) -> list[Cond]:
    if _is_id(value):
        return [Cond("id", ">=", value), Cond("id", "<", value + "\x7f")]
    return [Cond("flow_name", "like", f"{_escape(value).replace('*', '%')}%")]


def _is_id(value: str) -> bool:
    """Whether a bare word is the beginning of an id, and not of a name."""
    return re.fullmatch(r"[0-9a-f-]{6,36}", value) is not None


def _status(value: str, negated: bool) -> Cond:
    known = [str(state) for state in RunState]
    states = list(dict.fromkeys(value.split(",")))
    for state in states:
        if state not in known:
            raise BadRequest(f'no status "{state}"; there are {", ".join(known)}')
    if negated:
        states = [state for state in known if state not in states]
    return Cond("state", "in", tuple(states))


def _time(column: str, key: str, value: str, now: int) -> Cond:
    match = re.fullmatch(r"(<=|>=|<|>)(-?)(.+)", value)
    if match is None:
        raise BadRequest(f'"{key}:{value}" needs a comparison, such as {key}:>-2h')
    op, minus, rest = match.groups()
    span = _SPAN.fullmatch(rest)
    if span is not None:
        offset = int(span.group(1)) * _UNITS_MS[span.group(2)]
        return Cond(column, op, now - offset if minus else now + offset)
    if _MILLISECONDS.fullmatch(rest) and not minus:
        return Cond(column, op, int(rest))
    raise BadRequest(f'"{rest}" is neither a span such as 2h nor unix milliseconds')


def _tag_pattern(value: str) -> str:
    """`env=prod`, `env=pr*`, or `env` for any value: tags are kept as JSON without spaces, in
    which a quote that ends a name never stands inside a text."""
    name, given, wanted = value.partition("=")
    quoted = _escape(json.dumps(name, ensure_ascii=False)) + ":"
    if given:
        quoted += _escape(json.dumps(wanted, ensure_ascii=False)).replace("*", "%")
    return f"%{quoted}%"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
