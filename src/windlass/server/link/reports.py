"""Reports: what came back from a worker, brought to the database and only then acknowledged."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from windlass.model.errors import NotFound, StaleLease, Unavailable, WindlassError
from windlass.model.rows import Failure
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.server import Arrived
from windlass.server.link.outcomes import artifacts_of, failure_of

if TYPE_CHECKING:
    from windlass.server.link.session import Session

log = logging.getLogger(__name__)


class Reports:
    """The reports of one session. A database that is away is waited for."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._plane = session.plane
        self.pending: set[str] = set()
        """Attempts whose outcome is on its way: their leases are kept too."""

    def result(self, arrived: Arrived, result: m.Result) -> None:
        self._begin(result.task_id, self._settling(arrived, self._result(arrived, result)))

    def failure(self, arrived: Arrived, attempt_id: str, failure: Failure) -> None:
        self._begin(
            attempt_id, self._settling(arrived, self._failure(arrived, attempt_id, failure))
        )

    def failed(self, attempt_id: str, failure: Failure) -> None:
        """Report what no frame said: a worker that refused, forgot or never got the task."""
        self._begin(attempt_id, self.quietly(self._failed(attempt_id, failure)))

    def _begin(self, attempt_id: str, work: Coroutine[Any, Any, None]) -> None:
        async def report() -> None:
            self.pending.add(attempt_id)
            try:
                await work
            finally:
                self.pending.discard(attempt_id)

        self._session.spawn(report())

    async def _settling(self, arrived: Arrived, work: Coroutine[Any, Any, None]) -> None:
        """Answer the worker even when we fail, as a frame without an answer blocks its window. The
        attempt is left to its lease."""
        try:
            await work
        except Exception:
            log.exception("%s: a result could not be taken", self._session.worker_id)
            self._session.settle(arrived, codes.INTERNAL, "the server could not take it")

    async def _result(self, arrived: Arrived, result: m.Result) -> None:
        attempt_id = result.task_id
        if result.status not in ("SUCCEEDED", "SKIPPED"):
            await self._failure(arrived, attempt_id, failure_of(result))
            return
        now = self._plane.engine.store.now()
        worker_id = self._session.worker_id
        made = artifacts_of(attempt_id, result.run_id, worker_id, result.artifacts, now)
        if made:
            await _until_written(lambda: self._plane.engine.write(*made))
        await _until_written(self._plane.feedback.flush)
        output = bytes(result.result).decode()
        skipped = result.status == "SKIPPED"
        await self._commit(
            arrived, lambda: self._plane.attempts.succeeded(attempt_id, output, skipped=skipped)
        )

    async def _failure(self, arrived: Arrived, attempt_id: str, failure: Failure) -> None:
        await _until_written(self._plane.feedback.flush)
        await self._commit(arrived, lambda: self._plane.attempts.failed(attempt_id, failure))

    async def _commit(
        self, arrived: Arrived, report: Callable[[], Coroutine[Any, Any, str]]
    ) -> None:
        try:
            await _until_written(report)
        except (StaleLease, NotFound) as error:
            self._session.settle(arrived, codes.RESULT_STALE, str(error))
        except WindlassError as error:
            log.warning("%s: a result was refused: %s", self._session.worker_id, error)
            self._session.settle(arrived, codes.INTERNAL, str(error))
        else:
            self._session.settle(arrived)

    async def _failed(self, attempt_id: str, failure: Failure) -> None:
        await _until_written(lambda: self._plane.attempts.failed(attempt_id, failure))

    async def quietly(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do what may come too late to matter."""
        try:
            await work
        except WindlassError as error:
            log.debug("%s: %s", self._session.worker_id, error)


async def _until_written(write: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    while True:
        try:
            await write()
            return
        except Unavailable as error:
            await asyncio.sleep(error.retry_after_s)
