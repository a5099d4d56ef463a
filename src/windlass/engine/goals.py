"""Goals of planned runs.

A plan's parameters begin with its goal, so a list of runs knows it without reading the rest.
"""

import re
from collections.abc import Iterable

import msgspec

from windlass.engine.engine import Engine
from windlass.model.rows import Json, Run

SHOWN_CHARS_MAX = 500
"""A list shows so much of a goal."""
_READ_CHARS_MAX = 2_000
_DIALECT = "plan"
_BEGINS = '{"goal":"'
_TEXT = re.compile(r'(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*')


class _Params(msgspec.Struct):
    goal: object = ""


def goal_of(run: Run) -> str:
    """What a run is planned for, of a row with its parameters; empty of other runs."""
    if run.dialect != _DIALECT:
        return ""
    goal = msgspec.json.decode(run.params, type=_Params).goal
    return goal if isinstance(goal, str) else ""


async def goals_of(engine: Engine, runs: Iterable[Run]) -> dict[str, str]:
    """How the goals of some runs begin, by run, of rows without their parameters."""
    plans = [run.id for run in runs if run.dialect == _DIALECT]
    if not plans:
        return {}
    rows = await engine.store.query("params_begin", ids=plans, chars_max=_READ_CHARS_MAX)
    return {row["id"]: goal_at_start(row["beginning"])[:SHOWN_CHARS_MAX] for row in rows}


def goal_at_start(params: str) -> str:
    """The goal that parameters begin with, as far as they were read."""
    if not params.startswith(_BEGINS):
        return ""
    found = _TEXT.match(params, len(_BEGINS))
    assert found is not None, "it matches nothing too"
    try:
        return msgspec.json.decode(f'"{found.group()}"', type=str)
    except msgspec.DecodeError:
        return ""  # half of a character that is written as two


def goal_first(params: Json) -> Json:
    """A plan's parameters, beginning with the goal."""
    if params.startswith(_BEGINS):
        return params
    fields = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
    goal = msgspec.json.decode(params, type=_Params).goal
    if not goal or not isinstance(goal, str):
        return params
    first = {"goal": msgspec.Raw(msgspec.json.encode(goal))}
    return msgspec.json.encode({**first, **fields, **first}).decode()
