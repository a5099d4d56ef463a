"""What a package's handler tells the server beside its result; its worker passes it on.

    with ctx.action("send_email", "external_write", input={"to": to}) as action:
        action.output = mail.send(to, text)
    ctx.blackboard.put("progress.pages", {"read": 3})

Methods wait for their answer, so they belong in plain functions, which have a thread of their own;
a coroutine writes `async with ctx.action(…)` and `await asyncio.to_thread(ctx.blackboard.put, …)`.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

AskDesk = Callable[[str, dict[str, Any]], Any]


class DeskError(RuntimeError):
    """The server does not want it, or cannot be asked; the message says why."""


class Action:
    """One action of a call, for `with` and `async with`; one that is refused is not done."""

    def __init__(self, ask: AskDesk, start: dict[str, Any]) -> None:
        self._ask = ask
        self._start = start
        self.output: Any = None
        """What came of it; kept with the action."""
        self.summary = ""
        """A line for people, said with the outcome."""

    @property
    def call_id(self) -> str:
        return str(self._start["call_id"])

    def __enter__(self) -> Self:
        self._ask("begin", self._start)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        failed = error is not None
        ended = {
            "call_id": self.call_id,
            "state": "failed" if failed else "completed",
            "output": self.output,
            "error": f"{type(error).__name__}: {error}" if failed else "",
            "summary": self.summary,
        }
        self._ask("end", ended)

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Whoever is cancelled has done what it has done, and says so first.
        await asyncio.shield(asyncio.to_thread(self.__exit__, kind, error, trace))


class BoardEntry(NamedTuple):
    """What stands under a key."""

    key: str
    revision: int
    writer: str
    value: Any


class Blackboard:
    """What a run's tasks let each other know: read all of it, write below your own task."""

    def __init__(self, ask: AskDesk) -> None:
        self._ask = ask

    def put(self, key: str, value: Any, expected: int | None = None) -> int:
        """Write a key; where `expected` is given, only over that revision (0: only if there is
        none). Returns the new revision."""
        return int(self._ask("put", {"key": key, "value": value, "expected": expected}))

    def delete(self, key: str, expected: int | None = None) -> int:
        return int(self._ask("delete", {"key": key, "expected": expected}))

    def get(self, key: str, revision: int = 0) -> BoardEntry | None:
        """What stands under a key, or stood at a revision; None where nothing does."""
        found = self._ask("get", {"key": key, "revision": revision})
        return None if found is None else BoardEntry(**found)

    def list(self, prefix: str = "") -> list[BoardEntry]:
        """What stands under all keys that begin so, of the whole run if nothing is said."""
        return [BoardEntry(**each) for each in self._ask("list", {"key": prefix})]
