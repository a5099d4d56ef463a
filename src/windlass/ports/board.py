"""A copy of the blackboard, for readers outside.

Promise. `put` returns once every entry is kept. Of one key the newest revision stands, in whatever
order and how often they come: whoever puts may do it again after a crash. An entry that was taken
away is put as `deleted` and is not there any more, but an older one does not come back.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class BoardCopy(NamedTuple):
    """A key of the blackboard as it stands."""

    key: str
    revision: int
    body: bytes
    """What readers see; empty where it is deleted."""
    deleted: bool = False


class Board(Protocol):
    async def put(self, entries: Sequence[BoardCopy]) -> None:
        """Keep what is newer than what is there. `Unavailable` if the board is away."""
        ...

    async def get(self, key: str) -> BoardCopy | None:
        """A key that stands."""
        ...

    async def list(self, prefix: str) -> Mapping[str, int]:
        """The keys that stand and begin so, with their revisions."""
        ...

    async def close(self) -> None: ...
