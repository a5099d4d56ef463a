"""Blobs: large things kept whole, such as package archives and uploaded files.

Promise. `keep` either puts the whole file under its key, durably, or nothing; a key holds one
content until it is removed. Whoever reads a key sees all of it or `NotFound`.
"""

from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    def scratch(self, name: str) -> Path:
        """A place to gather a file before it is kept; the same name gives the same place."""
        ...

    def keep(self, key: str, scratch: Path) -> None:
        """Move a gathered file under its key. Blocking: call it from a thread."""
        ...

    def path(self, key: str) -> Path:
        """Where a blob can be read, or `NotFound`."""
        ...

    def remove(self, key: str) -> None:
        """Forget a blob; one that is not there is fine."""
        ...
