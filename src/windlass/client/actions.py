"""Actions: what an attempt does outside, told to the server before it is done and after.

    with attempt.action("send_email", input={"to": to}) as action:
        action.output = mail.send(to, text)

What cannot be written down is not done: entering raises, and the body does not run. What happened
to an action whose program dies in between is listed by the server as unknown.
"""

import asyncio
import logging
from types import TracebackType
from typing import Any, Protocol, Self

from windlass.model.errors import WindlassError
from windlass.protocol.exchange import ActionEnd, ActionStart

log = logging.getLogger(__name__)


class Ledger(Protocol):
    """Where actions are written down. Called from any thread; raises the errors of the model."""

    def begin(self, start: ActionStart) -> None: ...

    def end(self, end: ActionEnd) -> None: ...


class Action:
    """One action of an attempt, for `with` and `async with`."""

    def __init__(self, ledger: Ledger, start: ActionStart) -> None:
        self._ledger = ledger
        self._start = start
        self.output: Any = None
        """What came of it; kept with the action."""
        self.summary = ""
        """A line for people, said with the outcome."""

    @property
    def call_id(self) -> str:
        return self._start.call_id

    def __enter__(self) -> Self:
        self._ledger.begin(self._start)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        start = self._start
        failed = error is not None
        ended = ActionEnd(
            attempt_id=start.attempt_id,
            token=start.token,
            call_id=start.call_id,
            state="failed" if failed else "completed",
            output=self.output,
            error=f"{type(error).__name__}: {error}" if failed else "",
            summary=self.summary,
        )
        try:
            self._ledger.end(ended)
        except WindlassError as refused:
            # It is done, whatever the server makes of it.
            log.warning("action %s of %s: %s", start.call_id, start.attempt_id, refused)

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
