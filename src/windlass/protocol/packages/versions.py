"""Versions of packages: semantic (`1.4.0-rc.1`) or by calendar (`2025.10.0`), in one order."""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from windlass.protocol.packages.errors import invalid

PATTERN = (
    r"[0-9]{1,9}(\.[0-9]{1,9}){1,3}"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
"""Two to four numbers, then a pre-release and a build as semantic versioning spells them."""

LENGTH_MAX = 64

_WHOLE = re.compile(PATTERN)


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A version by its parts; `text` is how its author wrote it."""

    text: str
    numbers: tuple[int, ...]
    pre: tuple[str, ...] = ()
    build: str = ""

    @property
    def is_release(self) -> bool:
        return not self.pre

    def __lt__(self, other: "Version") -> bool:
        # Build and text mean nothing to semantic versioning; they keep our order total.
        mine = (self.precedence, self.build, self.text)
        return mine < (other.precedence, other.build, other.text)

    @property
    def precedence(self) -> tuple[tuple[int, ...], bool, tuple[tuple[int, int, str], ...]]:
        """What semantic versioning compares: a release follows its pre-releases, in which
        numbers come before words."""
        pre = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.pre)
        return self.numbers, self.is_release, pre


def is_version(text: str) -> bool:
    return len(text) <= LENGTH_MAX and _WHOLE.fullmatch(text) is not None


def parse(text: str) -> Version:
    if not is_version(text):
        raise invalid(f'"{text[:80]}" is not a version; write it like 1.2.3 or 2025.10.0')
    rest, _, build = text.partition("+")
    core, _, pre = rest.partition("-")
    numbers = tuple(int(part) for part in core.split("."))
    padded = numbers + (0,) * (4 - len(numbers))
    return Version(text, padded, tuple(pre.split(".")) if pre else (), build)


def satisfies(version: str, minimum: str) -> bool:
    """Whether a version is at least `minimum`; an empty minimum takes any."""
    # Builds and spellings of the minimum itself count as equal to it.
    return not minimum or parse(version).precedence >= parse(minimum).precedence


def newest(versions: Iterable[str], minimum: str = "") -> str | None:
    """The newest version from `minimum` on; a pre-release only where no release would do."""
    fit = [parse(text) for text in versions if satisfies(text, minimum)]
    found = max(fit, key=lambda version: (version.is_release, version), default=None)
    return None if found is None else found.text


def ordered(versions: Iterable[str]) -> list[str]:
    """Versions from the oldest to the newest."""
    return [version.text for version in sorted(parse(text) for text in versions)]
