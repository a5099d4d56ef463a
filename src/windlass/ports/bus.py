"""A bus: what was committed, told to whoever listens outside.

Promise. `publish` returns once every message is kept by the bus. The same id within `DEDUPE_S` is
kept once, so whoever publishes may do it again after a crash. Who subscribes gets what is published
from then on, in the order in which the bus kept it, until it ends; subjects are words between dots,
and a subscription names the words that a subject begins with.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

DEDUPE_S = 300
KEPT_S = 24 * 3600
"""How long a bus that outlives its processes keeps messages, for who comes back."""


class Message(NamedTuple):
    id: str
    subject: str
    body: bytes


def begins_with(subject: str, beginning: str) -> bool:
    """Whether the first words of a subject are these."""
    return f"{subject}.".startswith(f"{beginning}.")


class Unpublishable(Exception):
    """The bus will never take this message."""


class Bus(Protocol):
    async def publish(self, messages: Sequence[Message]) -> None:
        """Hand over in order. `Unavailable` if the bus is away: some may have been taken."""
        ...

    def subscribe(self, beginning: str) -> AbstractAsyncContextManager[AsyncIterator[Message]]: ...

    async def close(self) -> None: ...
