"""What a run of a flow is given, from Python's own types."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

Params = Mapping[str, Any] | type
"""Types by name, a JSON Schema, or a class with typed fields (data class, struct, pydantic)."""

_REFS = "#/$defs/{name}"


def params_schema(params: Params) -> dict[str, Any]:
    """The JSON Schema of declared parameters; TypeError if they cannot be told from JSON."""
    if isinstance(params, Mapping):
        return dict(params) if _is_schema(params) else _by_name(params)
    own = getattr(params, "model_json_schema", None)
    if callable(own):
        return cast("dict[str, Any]", own())
    return _flat(params)


def _is_schema(params: Mapping[str, Any]) -> bool:
    return not params or isinstance(params.get("properties"), Mapping) or "$ref" in params


def _by_name(types: Mapping[str, Any]) -> dict[str, Any]:
    """One property a name, required: a parameter that may be left out is `(type, default)`."""
    fields: list[Any] = []
    for name, given in types.items():
        fields.append((name, *given) if isinstance(given, tuple) else (name, given))
    # A value may be left out or not, wherever it stands among the others.
    return _flat(msgspec.defstruct("Params", fields, kw_only=True))


def _flat(cls: type) -> dict[str, Any]:
    """The schema of a class's fields, with the class itself at the top."""
    try:
        [schema], defs = msgspec.json.schema_components([cls], ref_template=_REFS)
    except TypeError as error:
        raise TypeError(f"params cannot be told from {cls.__name__}: {error}") from error
    top = dict(defs.pop(str(schema.get("$ref", "")).rpartition("/")[2], schema))
    if top.get("type") != "object":
        hint = 'give types by name, as {"count": int}, or a class with typed fields'
        raise TypeError(f"params cannot be told from {cls.__name__}; {hint}")
    top.pop("title", None)
    return {**top, "$defs": defs} if defs else top
