"""Definition text, JSON or YAML, to the plain value it stands for."""

import json
from collections import Counter
from typing import NoReturn

from windlass.dialects.flow.yaml_text import YamlProblem, parse_yaml
from windlass.dialects.plain import DEFAULT_LIMITS, Limits, first_flaw
from windlass.model.errors import DefinitionError, Problem


def read_definition(
    text: str, *, yaml: bool | None = None, limits: Limits = DEFAULT_LIMITS
) -> object:
    """The JSON value a text holds; without `yaml`, its first character tells the two apart."""
    if len(text) > limits.chars_max:
        given, most = f"{len(text):,}", f"{limits.chars_max:,}"
        _fail(f"is {given} characters long, the limit is {most}", "split it into several flows")
    text = text.removeprefix("\ufeff")
    flaw = first_flaw(text, limits)
    if flaw is not None:
        raise DefinitionError([flaw])
    if yaml is None:
        yaml = not text.lstrip().startswith(("{", "["))
    value = _parse_yaml(text, limits) if yaml else _parse_json(text, limits)
    flaw = first_flaw(value, limits)
    if flaw is not None:
        raise DefinitionError([flaw])
    return value


def _parse_json(text: str, limits: Limits) -> object:
    repeated: list[str] = []

    def to_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated.extend(key for key, count in counts.items() if count > 1)
        return value

    value: object = None
    try:
        value = json.loads(text, object_pairs_hook=to_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        _fail(f"line {error.lineno}, column {error.colno}: {error.msg}", _JSON_HINT)
    except ValueError as error:  # NaN and Infinity, or an integer longer than Python reads
        _fail(f"holds a number we cannot read: {error}")
    except RecursionError:
        _fail(f"nested deeper than {limits.depth_max} levels")
    if repeated:
        raise DefinitionError(
            [
                Problem("definition", f'the key "{key:.60}" stands twice in one object', _TWICE)
                for key in repeated
            ]
        )
    return value


def _parse_yaml(text: str, limits: Limits) -> object:
    try:
        return parse_yaml(text, depth_max=limits.depth_max, values_max=limits.values_max)
    except YamlProblem as problem:
        _fail(str(problem), problem.hint)


_JSON_HINT = "text that starts with { or [ is read as JSON unless it is said to be YAML"
_TWICE = "rename or remove one of them; only the last would count"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _fail(reason: str, hint: str = "") -> NoReturn:
    raise DefinitionError([Problem("definition", reason, hint)])
