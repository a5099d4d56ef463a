"""JSON Schemas of nodes: whether parameters and results meet them, and if not, why."""

from functools import lru_cache
from typing import Any

import jsonschema_rs

_MASK = "this value"
"""Stands for the value in a message: what a run was given may be a secret, a failure is not."""


@lru_cache(maxsize=2048)
def validator(schema: str) -> jsonschema_rs.Validator:
    """The compiled schema; it fetches nothing, whatever the schema refers to."""
    return jsonschema_rs.validator_for(schema, offline=True, mask=_MASK)


def flaw_of(value: Any, schema: str, noun: str) -> str:
    """What keeps a value from meeting a schema, as `parameters.url: …`; "" if nothing does."""
    compiled = validator(schema)
    if compiled.is_valid(value):
        return ""
    error = next(compiled.iter_errors(value))
    where = noun + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path
    )
    return f"{where}: {error.message}"
