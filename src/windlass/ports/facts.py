"""Facts that were put into a queue for us: what somebody saw, to be taken at least once.

Promise. What is put in is handed out until it is said to be done, whoever dies in between: to one
taker at a time, to another when the first has been silent for long. Facts about one thing may come
out of order and more than once; whoever takes them must not mind.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Delivery(NamedTuple):
    """One fact as it came."""

    id: str
    """What the queue calls it."""
    body: bytes


class FactSource(Protocol):
    async def take(self) -> list[Delivery]:
        """The next ones, in order; waits a little for some. `Unavailable` if the queue is away."""
        ...

    async def done(self, ids: Sequence[str]) -> None:
        """Hand these out no more."""
        ...

    async def close(self) -> None: ...
