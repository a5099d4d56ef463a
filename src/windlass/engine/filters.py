"""The filter grammar of lists, one for UI, CLI and API.

`status:failed,waiting flow:review-* started:>-2h -status:cancelled error:"timeout" bareword`:
words are joined by and, commas by or, `-` negates, a bare word is the beginning of an id or of a
flow's name. An unknown key is an error rather than ignored.
"""

import json
import re

from windlass.model.errors import BadRequest
from windlass.model.states import RunState
from windlass.ports.store import Cond

_WORD = re.compile(r'(-)?(?:([a-z]+):)?("(?:[^"\\]|\\.)*"|[^\s"]+)')
_SPAN = re.compile(r"([0-9]{1,9})(ms|s|m|h|d|w)")
_MILLISECONDS = re.compile(r"[0-9]{1,15}")
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_TIMES = {"started": "created_at", "created": "created_at", "finished": "finished_at"}
_TIMES["updated"] = "updated_at"
_CONDITIONS_MAX = 50
"""Each is one more level of the query, of which SQLite takes a thousand."""
KEYS = ("status", "flow", "version", "project", "tag", "error", "node", *_TIMES)


def run_conditions(text: str, now: int) -> list[Cond]:
    """The conditions a filter stands for."""
    conditions: list[Cond] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise BadRequest(f'cannot read the filter at "{text[at:]}"; close the quote?')
        negated, key, value = match.groups()
        value = value[1:-1].replace('\\"', '"') if value.startswith('"') else value
        conditions += _condition(key, value, bool(negated), now)
        if len(conditions) > _CONDITIONS_MAX:
            raise BadRequest(f"a filter has at most {_CONDITIONS_MAX} conditions")
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return conditions


def _condition(key: str | None, value: str, negated: bool, now: int) -> list[Cond]:
    if key is None and negated:
        raise BadRequest(f'"-{value}" has no key; only "-status:" can be negated')
    if key is None:
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
    if key in ("error", "node"):
        return [Cond(key, "like", f"%{_escape(value)}%")]
    if key in _TIMES:
        return [_time(_TIMES[key], key, value, now)]
    raise BadRequest(f'no filter "{key}:"; there are {", ".join(KEYS)}')


def _bare(value: str) -> list[Cond]:
    if re.fullmatch(r"[0-9a-f-]{6,36}", value):
        return [Cond("id", ">=", value), Cond("id", "<", value + "\x7f")]
    return [Cond("flow_name", "like", f"{_escape(value).replace('*', '%')}%")]


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
