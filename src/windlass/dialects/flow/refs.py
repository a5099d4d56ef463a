"""References: `$params.a.b[0]`, `$shared.x`, `$input`, and plain paths into the shared values.

A path is keys joined by dots, each followed by any number of `[index]`. Text that begins with `$$`
stands for itself with one `$` less, so a literal may begin with `$` too.
"""

import re

from windlass.dialects.fields import Problems
from windlass.model.graph import Ref, Root, Step

_ROOTS = {"params": Root.PARAMS, "shared": Root.SHARED, "input": Root.INPUT}
_SHAPE = re.compile(r"\$([^.\[\]]*)(.*)", re.DOTALL)
_SEGMENT = re.compile(r"([^.\[\]]+)((?:\[[0-9]{1,9}\])*)")
_PART = re.compile(r"\$\$|\$\{([^}]*)\}|\$(\w+(?:\.\w+|\[[0-9]{1,9}\])*)|[^$]+|\$", re.ASCII)
_INDEXES = re.compile(r"((?:\[[0-9]{1,9}\])+)(?:\.(.+))?", re.DOTALL)


def parse_path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path, or None if the text is not one."""
    steps: list[Step] = []
    for segment in text.split("."):
        match = _SEGMENT.fullmatch(segment)
        if match is None:
            return None
        steps.append(match[1])
        steps.extend(_indexes(match[2]))
    return tuple(steps)


def parse_ref(text: str, where: str, problems: Problems) -> Ref | None:
    """What a text beginning with `$` refers to; None, with a problem noted, if to nothing."""
    if text.startswith("$$"):
        return literal(text[1:])
    shape = _SHAPE.fullmatch(text)
    assert shape is not None, "callers ask only about text that begins with $"
    name, rest = shape[1], shape[2]
    root = _ROOTS.get(name)
    if root is None:
        close = problems.closest(name, _ROOTS) or "$params, $shared and $input are known"
        hint = f'{close}; write "$${name:.20}…" for the text itself'
        problems.add(where, f'"${name:.60}" refers to nothing', hint)
        return None
    if not rest and root is Root.SHARED:
        problems.add(where, '"$shared" names no key', 'name one, as in "$shared.result"')
        return None
    path = _below_root(root, rest)
    if path is None:
        hint = 'write keys and indexes, as in "$params.rows[0].name"'
        problems.add(where, f'"{text:.60}" is not a path', hint)
        return None
    return Ref(root, path)


def parse_text(text: str, where: str, problems: Problems) -> list[str | Ref]:
    """The texts and references that a text with references in it is joined of, in order."""
    parts: list[str | Ref] = []
    for match in _PART.finditer(text):
        named = match[1] if match[1] is not None else match[2]
        if named is None:
            parts.append("$" if match[0] in ("$", "$$") else match[0])
            continue
        ref = parse_ref(f"${named}", where, problems)
        if ref is not None:
            parts.append(ref)
    return parts


def parse_key(text: str, where: str, problems: Problems) -> Ref | None:
    """What a key refers to: a reference if it begins with `$`, else a path into shared."""
    if text.startswith("$"):
        return parse_ref(text, where, problems)
    path = parse_path(text)
    if path is None:
        hint = 'write keys and indexes, as in "rows[0].name"'
        problems.add(where, f'"{text:.60}" is not a path into the shared values', hint)
        return None
    return Ref(Root.SHARED, path)


def literal(value: object) -> Ref:
    """A reference to a value that stands in the definition itself."""
    return Ref(Root.LITERAL, literal=value)


def _below_root(root: Root, rest: str) -> tuple[Step, ...] | None:
    if not rest:
        return ()
    indexes = _INDEXES.fullmatch(rest)
    if indexes is not None and root is Root.INPUT:  # an input may be a list; the others never are
        below = parse_path(indexes[2]) if indexes[2] else ()
        return None if below is None else (*_indexes(indexes[1]), *below)
    if not rest.startswith("."):
        return None
    # PocketFlow reads `$params..n` like `$params.n`, and definitions out there rely on it.
    return parse_path(rest[1:].removeprefix("."))


def _indexes(text: str) -> list[int]:
    return [int(index) for index in re.findall("[0-9]+", text)]
