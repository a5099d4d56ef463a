"""Fields of a body that are spelt as Python spells them: ignoring them would do something else than
was asked for."""

from collections.abc import Sequence
from typing import Any

import msgspec

from windlass.model.errors import BadRequest

_known: dict[type[Any], dict[bytes, tuple[str, str]]] = {}


def misspelt(type_: type[Any]) -> dict[bytes, tuple[str, str]]:
    """How fields of several words may be misspelt, as they would stand in a body."""
    found = _known.get(type_)
    if found is None:
        fields = fields_of(type_)
        wrong = [(each.name, each.encode_name) for each in fields if each.name != each.encode_name]
        found = _known[type_] = {f'"{name}"'.encode(): (name, right) for name, right in wrong}
    return found


def fields_of(type_: type[Any]) -> Sequence[msgspec.structs.FieldInfo]:
    try:
        return msgspec.structs.fields(type_)
    except TypeError:
        return ()  # a list, say


def check_spelling(body: bytes, type_: type[Any]) -> None:
    """`BadRequest` for `worker_profile` where `workerProfile` is meant. What merely contains such a
    word, in a value, is looked at more closely and let through."""
    found = [names for word, names in misspelt(type_).items() if word in body]
    if not found:
        return
    try:
        there = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return
    for name, right in found:
        if name in there:
            raise BadRequest(f'no field "{name}" here; did you mean "{right}"?')
