"""Reports: what came back from a worker, brought to the database and only then acknowledged."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from windlass.model.errors import BadRequest, NotFound, StaleLease, Unavailable, WindlassError
from windlass.model.rows import Failure
from windlass.model.values import readable
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.server import Arrived, Garbled
from windlass.server.link.outcomes import artifacts_of, failure_of, metadata_of, usage_of

if TYPE_CHECKING:
    from windlass.server.link.session import LinkSession

log = logging.getLogger(__name__)

_SETTLED_MAX = 1_000
"""How many outcomes are remembered for workers that tell them twice."""


class Answer(msgspec.Struct, frozen=True):
    """What a worker is told of its result; good without a code."""

    code: str = ""
    reason: str = ""


_DUPLICATE = Answer(codes.RESULT_DUPLICATE, "the result is there already")


class Reports:
    """The reports of one session. A database that is away is waited for."""

    def __init__(self, session: "LinkSession") -> None:
        self._session = session
        self._plane = session.plane
        self.pending: dict[str, list[Arrived | Garbled]] = {}
        """Attempts whose outcome is on its way, with the frames that told it. Their leases are
        kept too."""
        self._settled: dict[str, Answer] = {}
        self._numbers: dict[str, int] = {}
        """The highest number of a result, by run."""

    def result(self, arrived: Arrived, result: m.Result) -> None:
        good = self._numbered(arrived, result.run_id)

        async def taken() -> Answer:
            answer = await self._result(result)
            return answer if answer.code else good

        self._begin(result.task_id, arrived, taken())

    def failure(
        self, arrived: Arrived | Garbled, attempt_id: str, failure: Failure, code: str = ""
    ) -> None:
        answer = Answer(code, failure.message if code else "")
        self._begin(attempt_id, arrived, self._failure(attempt_id, failure, answer))

    def failed(self, attempt_id: str, failure: Failure) -> None:
        """Report what no frame said: a worker that refused, forgot or never got the task."""
        late = Answer(codes.RESULT_STALE, "the work has gone elsewhere")
        self._begin(attempt_id, None, self._failure(attempt_id, failure, late))

    def _numbered(self, arrived: Arrived, run_id: str) -> Answer:
        """What a worker of the first generation, which may number its results of a run, is told of
        this one's number. A result is no worse for those that are missing before it."""
        number = arrived.heard.envelope.seq
        if number is None or arrived.heard.seq is not None:
            return Answer()
        before = self._numbers.pop(run_id, None)
        self._numbers[run_id] = max(number, before or 0)
        if len(self._numbers) > _SETTLED_MAX:
            del self._numbers[next(iter(self._numbers))]
        if before is None or number <= before + 1:
            return Answer()
        text = f"{before + 1} was expected, and {number} came"
        return Answer(codes.RESULT_SEQ_GAP, text)

    def again(self, arrived: Arrived, attempt_id: str) -> bool:
        """Answer a frame that says what was said before as the first one is answered."""
        if attempt_id in self.pending:
            self.pending[attempt_id].append(arrived)
            return True
        known = self._settled.get(attempt_id)
        if known is not None:
            self._session.settle(arrived, known.code, known.reason)
        return known is not None

    def _begin(
        self, attempt_id: str, arrived: Arrived | Garbled | None, work: Coroutine[Any, Any, Answer]
    ) -> None:
        self.pending[attempt_id] = [] if arrived is None else [arrived]

        async def report() -> None:
            try:
                answer = await work
            except Exception:
                # A frame without an answer would block the worker's window. The attempt is left
                # to its lease.
                log.exception("%s: a result could not be taken", self._session.worker_id)
                answer = Answer(codes.INTERNAL, "the server could not take it")
            self._settle(attempt_id, answer)

        self._session.spawn(report())

    def _settle(self, attempt_id: str, answer: Answer) -> None:
        for arrived in self.pending.pop(attempt_id, ()):
            self._session.settle(arrived, answer.code, answer.reason)
            answer = _again(answer)
        self._settled[attempt_id] = answer
        if len(self._settled) > _SETTLED_MAX:
            del self._settled[next(iter(self._settled))]

    async def _result(self, result: m.Result) -> Answer:
        attempt_id = result.task_id
        if result.status not in ("SUCCEEDED", "SKIPPED"):
            return await self._failure(attempt_id, failure_of(result), Answer(), usage_of(result))
        logs = self._plane.feedback.take_of(attempt_id)
        try:
            output = readable(result.result, "the result")
            made = artifacts_of(result, self._session.worker_id, self._plane.engine.store.now())
            skipped = result.status == "SKIPPED"
            return await self._commit(
                lambda: self._plane.attempts.succeeded(
                    attempt_id,
                    output,
                    skipped=skipped,
                    metadata=metadata_of(result),
                    usage=usage_of(result),
                    along=[*made, *logs],
                )
            )
        except BadRequest as error:
            # A result that cannot be kept cannot be kept the next time either.
            log.warning("%s: a result was refused: %s", self._session.worker_id, error)
            refused = Answer(codes.INVALID, str(error))
            return await self._failure(attempt_id, Failure("fatal", str(error)), refused)

    async def _failure(
        self,
        attempt_id: str,
        failure: Failure,
        answer: Answer,
        usage: Mapping[str, Any] | None = None,
    ) -> Answer:
        logs = self._plane.feedback.take_of(attempt_id)
        outcome = await self._commit(
            lambda: self._plane.attempts.failed(attempt_id, failure, usage=usage, along=logs)
        )
        return outcome if outcome.code else answer

    async def _commit(self, report: Callable[[], Coroutine[Any, Any, str]]) -> Answer:
        try:
            await _until_written(report)
        except (StaleLease, NotFound) as error:
            return Answer(codes.RESULT_STALE, str(error))
        return Answer()

    async def quietly(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do what may come too late to matter."""
        try:
            await work
        except WindlassError as error:
            log.debug("%s: %s", self._session.worker_id, error)


def _again(answer: Answer) -> Answer:
    """What whoever says the same once more is told."""
    return answer if answer.code and answer.code not in codes.TOLD else _DUPLICATE


async def _until_written(write: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    while True:
        try:
            await write()
            return
        except Unavailable as error:
            await asyncio.sleep(error.retry_after_s)
