"""JSON Schemas of parameters and results: what they supply, demand, and let through an edge."""

import json
from collections.abc import Collection

import jsonschema_rs

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_list, is_object, under
from windlass.dialects.workflow.shape import Json, Path
from windlass.model.schema_work import TOO_LONG, TOO_MANY, explainable, judgeable
from windlass.model.values import excused, is_template

_SEVERAL = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired"})
"""Keywords that judge a whole object by several of its parts, some of which may be to come."""


def readable_schema(schema: Json, where: str, problems: Problems) -> Json | None:
    """The schema if it is one; it may refer to itself and to nothing outside."""
    try:
        jsonschema_rs.validator_for(schema, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        problems.add(where, f"is not a JSON Schema we can use: {reason:.200}")
        return None
    return schema


def schema_text(schema: Json | None) -> str:
    """A schema as the graph keeps it; the same schema is always the same text."""
    if not schema:
        return ""
    return json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def with_defaults(value: Json, schema: Json | None) -> Json:
    """An object with what its schema supplies for the properties it lacks."""
    properties = schema.get("properties") if schema else None
    if not is_object(properties):
        return value
    full = dict(value)
    for name, inner in properties.items():
        if not is_object(inner):
            continue
        if name not in full and "default" in inner:
            full[name] = inner["default"]
        held = full.get(name)
        if is_object(held):
            full[name] = with_defaults(held, inner)
    return full


def check_parameters(
    parameters: Json, schema: Json, filled: Collection[Path], where: str, problems: Problems
) -> None:
    """Note where fixed parameters do not meet their schema, but for what edges will fill."""
    if not judgeable(schema, parameters):
        problems.add(where, TOO_LONG, "give fewer values, or let the schema refer to less")
        return
    validator = jsonschema_rs.validator_for(schema, offline=True)
    if not (valid := validator.is_valid(parameters)) and not explainable(schema, parameters):
        if not filled:  # else it is judged when its task begins
            problems.add(where, TOO_MANY, "give fewer values, or let the schema refer to less")
        return
    for error in () if valid else validator.iter_errors(parameters):
        path: Path = tuple(error.instance_path)
        keyword = error.kind.name
        if keyword == "required":
            path = (*path, str(error.kind.as_dict()["property"]))
        if filled and (keyword in _SEVERAL or _touched(path, filled)):
            continue
        at = where
        for step in path:
            at = under(at, step)
        if problems.noted(at):
            continue  # A subgraph is checked at every place it stands.
        if excused(value_at(parameters, path), keyword, is_template):
            reason = f"{error.message}; it reaches the handler as it is written"
            problems.warn(at, reason, "let an edge fill it")
            continue
        problems.add(at, error.message, "give it a value, or let an edge fill it")
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    properties = schema.get("properties")
    known = properties if is_object(properties) else {}
    for name in sorted({str(path[0]) for path in filled if path}) if closed else ():
        if name not in known and not problems.noted(under(where, name)):
            reason = f'an edge fills "{name}", which the schema does not allow'
            problems.add(under(where, name), reason, problems.closest(name, known))


def value_at(value: object, path: Path) -> object:
    """What stands at a place; None if nothing does."""
    for step in path:
        if is_object(value):
            value = value.get(str(step))
        elif is_list(value) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _touched(path: Path, filled: Collection[Path]) -> bool:
    """Whether an edge writes to a place, above it or below it. All edges write below the top."""
    names = tuple(map(str, path))
    for other in filled:
        given = tuple(map(str, other))
        if names[: len(given)] == given or (names and given[: len(names)] == names):
            return True
    return False


def types_at(schema: Json | None, path: Path) -> frozenset[str] | None:
    """The JSON types a schema allows at a place; None if it does not say."""
    inner: object = schema
    for step in path:
        if not is_object(inner):
            return None
        properties, items = inner.get("properties"), inner.get("items")
        if is_object(properties) and str(step) in properties:
            inner = properties[str(step)]
        elif str(step).isdecimal() and is_object(items):
            inner = items
        else:
            return None
    named = inner.get("type") if is_object(inner) else None
    if isinstance(named, str):
        return frozenset({named})
    return frozenset(map(str, named)) if is_list(named) else None


def fits(given: frozenset[str] | None, wanted: frozenset[str] | None) -> bool:
    """Whether a value of some type may be of another; what is not known may be anything."""
    if given is None or wanted is None:
        return True
    widened = wanted | {"integer"} if "number" in wanted else wanted
    return bool(given & widened) or ("number" in given and "integer" in wanted)
