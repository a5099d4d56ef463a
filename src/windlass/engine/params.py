"""A run's parameters, held against what its definition declares."""

import difflib
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from windlass.model.errors import BadRequest
from windlass.model.rows import Json
from windlass.model.schema_work import TOO_LONG, TOO_MANY, explainable, judgeable
from windlass.model.values import is_object

_LISTED_MAX = 10


def checked_params(schema: Json, params: Json, flow: str) -> Json:
    """The parameters with declared defaults filled in; every slip is named at once."""
    if not schema:
        return params
    declared: dict[str, Any] = properties_of(schema)
    given: dict[str, Any] = msgspec.json.decode(params)
    defaults = {
        name: one["default"]
        for name, one in declared.items()
        if name not in given and is_object(one) and "default" in one
    }
    full = {**given, **defaults}
    declared_as = msgspec.json.decode(schema)
    if not judgeable(declared_as, full):
        raise BadRequest(f'flow "{flow}": what it is given: {TOO_LONG}')
    validator = _validator(schema)
    if not validator.is_valid(full):
        if not explainable(declared_as, full):
            raise BadRequest(f'flow "{flow}": what it is given: {TOO_MANY}')
        # The value itself stays out of the message: what a run is given may be a secret.
        errors = zip(validator.iter_errors(full), range(_LISTED_MAX), strict=False)
        flaws = [_told(error, full, declared) for error, _ in errors]
        raise BadRequest(f'flow "{flow}": {"; ".join(flaws)}')
    return msgspec.json.encode(full).decode() if defaults else params


@lru_cache(maxsize=512)
def _validator(schema: Json) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema, offline=True, mask="this value")


@lru_cache(maxsize=512)
def properties_of(schema: Json) -> dict[str, Any]:
    """The declared parameters by name, each with its own schema."""
    if not schema:
        return {}
    declared: dict[str, Any] = msgspec.json.decode(schema).get("properties", {})
    return declared


def _told(
    error: jsonschema_rs.ValidationError, given: dict[str, Any], declared: dict[str, Any]
) -> str:
    keyword = error.kind.name
    if keyword == "additionalProperties" and not error.instance_path:
        return "; ".join(_unknown(name, declared) for name in given if name not in declared)
    if keyword == "required":
        missing = ".".join([*map(str, error.instance_path), str(error.kind.as_dict()["property"])])
        return f'the parameter "{missing}" is missing'
    where = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in error.instance_path)
    hint = ""
    if keyword == "type" and len(error.instance_path) == 1 and _is_text(given, error.instance_path):
        hint = f" (on the command line write {error.instance_path[0]}:=… for what is not text)"
    return f'the parameter "{where.removeprefix(".")}": {error.message}{hint}'


def _is_text(given: dict[str, Any], path: list[Any]) -> bool:
    return isinstance(given.get(path[0]), str)


def _unknown(name: str, declared: dict[str, Any]) -> str:
    close = difflib.get_close_matches(name[:100], declared, n=1)
    if close:
        return f'there is no parameter "{name:.60}"; did you mean "{close[0]}"?'
    known = ", ".join(sorted(declared)[:20]) or "none"
    return f'there is no parameter "{name:.60}"; it takes {known}'
