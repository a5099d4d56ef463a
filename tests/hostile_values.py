"""Values, names and bodies that mean harm, made from good ones: the same for the same seed.

JSON is carried as bytes here, because most of what is of interest is something a JSON library
would not write.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

UNREADABLE: dict[str, bytes] = {
    "too large": b"1e999",
    "too small": b"-1e999",
    "5000 digits": b"1" * 5_000,
    "5000 digits below": b"-" + b"9" * 5_000,
    "no number": b"NaN",
    "invalid utf-8": b'"\xff\xfe"',
    "overlong utf-8": b'"\xc0\x80"',
    "half a character in utf-8": b'"\xed\xa0\x80"',
    "half a character": b'"\\ud800"',
    "the other half": b'"\\udc00x"',
    "deep lists": b"[" * 5_000 + b"]" * 5_000,
    "deep objects": b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    "open": b'{"a": ',
    "raw newline": b'"a\nb"',
}
"""JSON texts nobody should have to read."""

ODD: dict[str, bytes] = {
    "null": b"null",
    "true": b"true",
    "false": b"false",
    "zero": b"-0",
    "zero from below": b"-0.0",
    "fraction": b"0.1",
    "beyond doubles": b"9007199254740993",
    "beyond 64 bits": b"18446744073709551616",
    "smallest of 64 bits": b"-9223372036854775808",
    "largest": b"1.7976931348623157e308",
    "digits": b"1" * 400,
    "empty text": b'""',
    "nul": b'"a\\u0000b"',
    "controls": b'"\\u001b[31m\\r\\n\\u0007"',
    "right to left": b'"\\u202etxt"',
    "long text": b'"' + b"x" * 20_000 + b'"',
    "long wide text": b'"' + "\U0001f600".encode() * 900 + b'"',
    "path": b'"../../etc/passwd"',
    "template": b'"{{nodes.x.y}} $params.x $shared.x ${x} %s %(a)s"',
    "empty list": b"[]",
    "empty object": b"{}",
    "empty key": b'{"": ""}',
    "nul key": b'{"\\u0000": 1}',
    "twice": b'{"a": 1, "a": [2], "A": 3}',
    "mixed": b'[1, "1", null, [[]], {"a": []}, 1e308]',
    "huge list": b"[" + b"0," * 20_000 + b"0]",
    "many keys": b"{" + b",".join(b'"k%d":0' % n for n in range(3_000)) + b"}",
    "nested": b"[" * 150 + b"]" * 150,
    "long key": b'{"' + b"k" * 5_000 + b'": 1}',
}
"""JSON that can be read, and is seldom what was asked for."""

VALUES = {**UNREADABLE, **ODD}

NAMES: dict[str, str] = {
    "empty": "",
    "blank": " ",
    "long": "n" * 201,
    "very long": "n" * 3_000,
    "wide": "\U0001f600" * 190,
    "nul": "a\0b",
    "newline": "a\r\nb: c",
    "escape": "\x1b]0;x\x07",
    "eight-bit escape": "\x9b31mred\x7f\x85",
    "marks": "\u2066a\u2028b\u202e\u061c",
    "rewritten line": "good\rbad\b\b\x0b",
    "slashes": "../a//b/..",
    "percent": "%00%s%n",
    "quotes": "'\"`;--",
    "wildcards": "%_*?[",
    "separators": "a@b~c:d,e|f",
    "dot": ".",
    "digits": "9" * 400,
    "minus": "-1",
    "infinity": "1e999",
    "accents": "e\u0301\u00e9\u202e",
}
"""Names for what is stored under a name. None is half a character: those cannot be sent."""

WHOLE: dict[str, bytes] = {
    "nothing": b"",
    "blank": b" \n",
    "no JSON": b"this is no JSON",
    "byte order mark": b"\xef\xbb\xbf{}",
    "utf-16": '{"a": 1}'.encode("utf-16"),
    "zeros": b"\0" * 100,
    "two": b"{} {}",
}
"""Instead of a whole body."""

_HERE = "@here@"
_QUOTED = json.dumps(_HERE).encode()


def spoilt(good: Json, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Bodies that are good but for one place, each with what was done to it.

    The values take turns and the places are drawn, so that a few bodies see every value and many
    see every value at every place.
    """
    draw = random.Random(seed)
    values = list(VALUES.items())
    draw.shuffle(values)
    for number in range(count):
        if number % 8 == 7:
            yield draw.choice([_renamed, _doubled, _widened, _without])(good, draw)
        else:
            name, raw = values[(number - number // 8) % len(values)]
            place, body = with_value(good, draw, raw)
            yield f"{name} at {place}", body
    yield from (draw.sample(sorted(WHOLE.items()), 2))


def with_value(good: Json, draw: random.Random, raw: bytes) -> tuple[str, bytes]:
    """The body with raw JSON text at one of its places."""
    changed = copy.deepcopy(good)
    place = draw.choice(list(places(good)))
    parent = at(changed, place[:-1])
    parent[place[-1]] = _HERE
    return shown(place), written(changed).replace(_QUOTED, raw)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value has parts."""
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def shown(place: tuple[Any, ...]) -> str:
    return "/".join(map(str, place))


def written(value: Any) -> bytes:
    return json.dumps(value).encode()


def _renamed(good: Json, draw: random.Random) -> tuple[str, bytes]:
    """One of its keys, or a text in it, replaced by a name."""
    name, word = draw.choice(sorted(NAMES.items()))
    changed = copy.deepcopy(good)
    place = draw.choice(list(places(good)))
    parent = at(changed, place[:-1])
    if isinstance(parent, dict) and draw.random() < 0.5:
        parent[word] = parent.pop(place[-1])
        return f"key {name} for {shown(place)}", written(changed)
    parent[place[-1]] = word
    return f"name {name} at {shown(place)}", written(changed)


def _doubled(good: Json, draw: random.Random) -> tuple[str, bytes]:
    """The same key twice, with another value."""
    key = draw.choice(sorted(good))
    name, raw = draw.choice(sorted(VALUES.items()))
    text = written(good)
    return f"{key} twice, {name}", text[:-1] + b"," + json.dumps(key).encode() + b":" + raw + b"}"


def _widened(good: Json, draw: random.Random) -> tuple[str, bytes]:
    """Fields nobody asked for."""
    name, raw = draw.choice(sorted(VALUES.items()))
    return f"unknown field, {name}", written(good)[:-1] + b',"surprise":' + raw + b"}"


def _without(good: Json, draw: random.Random) -> tuple[str, bytes]:
    changed = copy.deepcopy(good)
    place = draw.choice(list(places(good)))
    parent = at(changed, place[:-1])
    del parent[place[-1]]
    return f"without {shown(place)}", written(changed)


def definitions(seed: int, count: int) -> Iterator[tuple[str, Json]]:
    """Flows with something odd in them, most of which should be refused, none of which may hurt."""
    draw = random.Random(seed)
    names = sorted(NAMES.items())
    numbers = [-1, 0, 2**31, 2**53, 2**63, 10**30, 1e300, 0.5, True, "1", None]
    for number in range(count):
        name, word = names[number % len(names)]
        size = draw.choice(numbers)
        call: Json = {"kind": "executor", "exec_type": "local_func", "func": "upper"}
        flow: Json = {"start": "a", "nodes": {"a": call}, "edges": []}
        match draw.randrange(10):
            case 0:
                flow = {"start": word, "nodes": {word: call}, "edges": []}
            case 1:
                call |= {"post": {"output_key": word}}
            case 2:
                call |= {"exec_type": "queue", "service": word}
            case 3:
                flow["nodes"] = {"a": {"kind": "wait_event", "params": {"signal_key": word}}}
            case 4:
                flow["nodes"] = {"a": {"kind": "timer", "params": {"delay_ms": size}}}
            case 5:
                retry = {"max_retries": size, "wait_ms": size, "timeout_ms": size}
                call |= {**retry, "max_attempts": size}
            case 6:
                call |= {"prep": {"input_key": word, "input_map": {word: word}}}
            case 7:
                flow["edges"] = [{"from": "a", "to": word, "action": word}, {"from": word}]
            case 8:
                flow["nodes"] = {
                    "a": {
                        "kind": "choice",
                        "choice_cases": [{"action": word, "expr": {word: size}}],
                    }
                }
            case _:
                flow["nodes"] = {"a": {"kind": "subflow", "subflow": nested(draw.randrange(60))}}
        yield f"{name}, {size!r:.20}", flow


def nested(depth: int) -> Json:
    """A subflow in a subflow, and so on."""
    inner: Json = {"kind": "executor", "exec_type": "local_func", "func": "upper"}
    for level in range(depth):
        flow = {"start": f"n{level}", "nodes": {f"n{level}": inner}, "edges": []}
        inner = {"kind": "subflow", "subflow": flow}
    return {"start": "in", "nodes": {"in": inner}, "edges": []}
