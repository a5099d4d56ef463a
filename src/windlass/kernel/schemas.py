"""JSON Schemas of nodes: whether parameters and results meet them, and if not, why."""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import jsonschema_rs

from windlass.kernel.values import encode
from windlass.model.schema_work import TOO_LONG, TOO_MANY, explainable, is_easy, judgeable
from windlass.model.values import excused

_MASK = "this value"
"""Stands for the value in a message: what a run was given may be a secret, a failure is not."""


@lru_cache(maxsize=2048)
def validator(schema: str) -> jsonschema_rs.Validator:
    """The compiled schema; it fetches nothing, whatever the schema refers to."""
    return jsonschema_rs.validator_for(schema, offline=True, mask=_MASK)


@lru_cache(maxsize=512)
def _read(schema: str) -> Any:
    return json.loads(schema)


Tolerated = Callable[[Any], bool]


def flaw_of(value: Any, schema: str, noun: str, tolerated: Tolerated | None = None) -> str:
    """What keeps a value from meeting a schema, as `parameters.url: …`; "" if nothing does.

    `tolerated` says which parts of the value nobody need mind.
    """
    if not is_easy(schema, len(encode(value))) and not judgeable(_read(schema), value):
        return f"{noun}: {TOO_LONG}"
    compiled = validator(schema)
    if compiled.is_valid(value):
        return ""
    if not explainable(_read(schema), value):
        return f"{noun}: {TOO_MANY}"
    for error in compiled.iter_errors(value):
        if tolerated is not None:
            part = _part(value, error.instance_path)
            if excused(part, error.kind.name, tolerated):
                continue
        where = noun + "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path
        )
        return f"{where}: {error.message}"
    return ""


def is_null(value: Any) -> bool:
    """Whether a result leaves a field open. Workers write null where they have nothing."""
    return value is None


def _part(value: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value
