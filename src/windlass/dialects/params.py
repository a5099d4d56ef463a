"""Declared parameters: the JSON Schema of what a run of a definition is given."""

import jsonschema_rs
import msgspec

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_object

_HINT = "write an object schema: {type: object, properties: {count: {type: integer}}}"


def read_params_schema(schema: object, where: str, problems: Problems) -> str:
    """The schema as text; empty if there is none, or if it is not one, which is noted.

    A name it does not declare is a slip of whoever starts a run, unless it says otherwise.
    """
    if schema is None:
        return ""
    if not is_object(schema) or schema.get("type", "object") != "object":
        problems.add(where, "does not describe an object", _HINT)
        return ""
    if not is_object(schema.get("properties", {})) or not _is_schema(schema):
        problems.add(where, "declares no parameters", _HINT)
        return ""
    closed = {"type": "object", "additionalProperties": False, **schema}
    try:
        jsonschema_rs.validator_for(closed, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        problems.add(where, f"is not a JSON Schema we can use: {reason:.200}")
        return ""
    return msgspec.json.encode(closed).decode()


def _is_schema(schema: dict[str, object]) -> bool:
    """Whether it looks like one: a list of names alone would let everything pass unseen."""
    return not schema or bool(schema.keys() & {"type", "properties", "$ref", "allOf", "anyOf"})
