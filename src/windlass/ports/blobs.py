"""Blobs: large things kept whole, such as package archives and uploaded files.

Promise. `keep` either puts the whole file under its key, durably, or nothing; a key holds one
content until it is removed or kept anew. Whoever reads a key sees all of it or `NotFound`; where
several processes share the blobs, each sees what the others kept.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    where: str
    """In a word, for people: `files` or `database`."""

    def scratch(self, name: str) -> Path:
        """A place to gather a file before it is kept; the same name gives the same place."""
        ...

    async def keep(self, key: str, scratch: Path) -> None:
        """Put a gathered file under its key; the file may be gone after."""
        ...

    async def path(self, key: str) -> Path:
        """Where a blob can be read for some minutes at least, or `NotFound`."""
        ...

    async def present(self, keys: Sequence[str]) -> set[str]:
        """Those of some keys under which something is kept."""
        ...

    async def remove(self, key: str) -> None:
        """Forget a blob; one that is not there is fine."""
        ...
