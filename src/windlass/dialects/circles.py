"""Circles in a graph of names, and how to show one."""

from collections.abc import Iterator, Mapping, Sequence

_SHOWN_MAX = 8


def circles(onward: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """One circle for every node that one leads back to: depth-first, with a stack of its own."""
    done: set[str] = set()
    closed: set[str] = set()
    for first in onward:
        trail: dict[str, Iterator[str]] = {}
        if first not in done:
            trail[first] = iter(onward[first])
        while trail:
            key = next(reversed(trail))
            step = next(trail[key], None)
            if step is None:
                done.add(key)
                del trail[key]
            elif step in trail and step not in closed:
                closed.add(step)
                keys = list(trail)
                yield keys[keys.index(step) :]
            elif step not in done and step not in trail:
                trail[step] = iter(onward[step])


def shown(names: Sequence[str]) -> str:
    """A circle in one line, back to where it began; a long one is cut short."""
    middle = names if len(names) <= _SHOWN_MAX else [*names[: _SHOWN_MAX - 1], "…"]
    return " → ".join(f"{name:.60}" for name in [*middle, names[0]])
