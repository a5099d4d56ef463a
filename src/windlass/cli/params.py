"""Parameters from the command line: `-p name=text`, `-p n:=3`, `-p a.b:=[1]`, `-i @file.json`."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeGuard

from windlass.model.errors import BadRequest
from windlass.model.values import DEPTH_MAX, readable


def read_value(given: str) -> Any:
    """JSON from the text itself, from a file (`@name`) or from standard input (`@-`)."""
    text, source = given, "the value"
    if given.startswith("@"):
        source = given[1:]
        try:
            text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
        except OSError as error:
            raise BadRequest(f"cannot read {source}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise BadRequest(f"{source} is not UTF-8: {error.reason}") from error
    # Python reads what no server does: NaN, halves of characters, numbers out of range.
    return json.loads(readable(text, source))


def read_params(base: str, pairs: Iterable[str]) -> dict[str, Any]:
    """The parameters of a run: an object to begin with, then single ones over it."""
    params: object = read_value(base) if base else {}
    if not _is_object(params):
        raise BadRequest("""the input must be a JSON object; write '{"name": "value"}'""")
    merged = dict(params)
    for pair in pairs:
        path, value = _pair(pair)
        _put(merged, path, value)
    return merged


def flow_version(given: str) -> tuple[str, int | None]:
    """A flow's name, and the version if one is asked for: `greet@3`."""
    name, sign, wanted = given.rpartition("@")
    if not sign:
        return given, None
    if not name or not wanted.isdecimal() or len(wanted) > 9:
        raise BadRequest(f'"{given}" is no flow; write NAME, or NAME@VERSION with a number')
    return name, int(wanted)


def read_tags(pairs: Iterable[str]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise BadRequest(f'"{pair}" is not a tag; write name=value')
        tags[name] = value
    return tags


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _pair(pair: str) -> tuple[str, Any]:
    name, sign, text = pair.partition("=")
    if not sign or not name.rstrip(":"):
        raise BadRequest(f'"{pair}" is not a parameter; write name=text or name:=json')
    if not name.endswith(":"):
        return name, text
    try:
        return name[:-1], json.loads(readable(text, f'"{text:.60}"'))
    except BadRequest as error:
        raise BadRequest(f"{error}; for plain text write {name[:-1]}={text:.60}") from error


def _put(params: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    if len(parents) >= DEPTH_MAX:
        raise BadRequest(f'"{path:.60}" is more than {DEPTH_MAX} levels deep')
    place = params
    for step in parents:
        inner: object = place.setdefault(step, {})
        if not _is_object(inner):
            raise BadRequest(f'"{path}": "{step}" is not an object')
        place = inner
    place[last] = value
