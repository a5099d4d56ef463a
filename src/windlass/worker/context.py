"""What a handler knows about its attempt, and how it learns that it should stop."""

import asyncio
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any

from windlass.client.board import Blackboard
from windlass.model.log_marks import LEVELS, LogMark, level_named
from windlass.protocol.exchange import ActionStart
from windlass.worker.actions import Action
from windlass.worker.answers import Asked, Brief, answer_in, question_of
from windlass.worker.desk import Desk
from windlass.worker.envs import Env
from windlass.worker.errors import ActionRefused, Cancelled, PermanentError
from windlass.worker.records import Record, marks_of

LOG_CHARS_MAX = 64 * 1024


class Stop(StrEnum):
    """Why an attempt should stop."""

    CANCELLED = "cancelled"
    LOST = "lost"
    TIMEOUT = "timeout"


_REASONS = {
    Stop.CANCELLED: "the attempt was cancelled",
    Stop.LOST: "the lease of this attempt is gone; another may have the work",
    Stop.TIMEOUT: "the attempt ran out of time",
}


class Context:
    """One attempt, as its handler sees it. Safe to use from any thread."""

    def __init__(
        self,
        *,
        attempt_id: str = "",
        run_id: str = "",
        task_id: str = "",
        node: str = "",
        number: int = 1,
        params: dict[str, Any] | None = None,
        role: str = "work",
        feedback: Sequence[Any] = (),
        clock: Callable[[], float] = time.monotonic,
        desk: Desk | None = None,
        token: str | int = "",
        env: dict[str, Any] | None = None,
    ) -> None:
        self.attempt_id = attempt_id
        self.run_id = run_id
        self.task_id = task_id
        self.node = node
        self.number = number
        self.params = params if params is not None else {}
        self.role = role
        """What the result means: `work`, a `plan`, or to `verify` another's work."""
        self.feedback = feedback
        """What verifiers and earlier tries said, oldest first."""
        self.progress: float | None = None
        self.trusted_until = float("inf")
        """When the holder stops relying on its lease; before the server gives it to another."""
        self._clock = clock
        self._lock = threading.Lock()
        self._stop: Stop | None = None
        self._on_stop: Callable[[], object] | None = None
        self._on_log: Callable[[], object] | None = None
        self.told = 0
        """How many characters of the log the server has."""
        self._records: list[Record] = []
        self._chars = 0
        self._usage: dict[str, float] = {}
        self._calls = 0
        self.brief: Brief | None = None
        """What a task of a plan was told; None elsewhere."""
        self.artifacts: list[dict[str, Any]] = []
        self.desk = desk
        """Where the attempt asks for more than its result; None where nobody answers."""
        self._told_env = env
        self.token = token
        """The proof that this attempt was leased to its worker."""

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop: cancelled, out of time, or the lease is gone."""
        return self.stopped is not None

    @property
    def stopped(self) -> Stop | None:
        if self._stop is None and self._clock() >= self.trusted_until:
            return Stop.LOST
        return self._stop

    def check(self) -> None:
        """Raise Cancelled if the handler should stop; call it now and then in long work."""
        reason = self.stopped
        if reason is not None:
            raise Cancelled(_REASONS[reason])

    async def heartbeat(self, progress: float | None = None) -> None:
        """Let others run, note how far the work is, and raise Cancelled if it should stop.

        The lease needs no help: it is renewed in the background for as long as the handler runs.
        """
        if progress is not None:
            self.progress = progress
        await asyncio.sleep(0)
        self.check()

    def log(self, text: str, *, level: str = "") -> None:
        """Add a line or more to the attempt's log, which is kept with its result. `level` is how
        serious it is: `debug`, `info`, `warning`, `error` or `critical`."""
        known = level_named(level)
        if level and not known:
            raise ValueError(f'no level "{level}": there are {", ".join(LEVELS)}')
        with self._lock:
            room = LOG_CHARS_MAX - self._chars
            if room <= 0:
                return
            if len(text) >= room:
                text = text[:room] + "… (the rest is left out)"
            self._records.append(Record(self._chars, text, known, self._clock()))
            self._chars += len(text) + 1
            act = self._on_log
        if act is not None:
            act()

    def report_usage(self, *, tokens: float = 0, money: float = 0) -> None:
        """Say what the work has used up since the last time; budgets are settled by the sum, with
        the result or the failure."""
        if tokens < 0 or money < 0:
            raise ValueError("nothing can be given back to a budget")
        with self._lock:
            for unit, more in (("tokens", tokens), ("money", money)):
                if more:
                    self._usage[unit] = self._usage.get(unit, 0) + more

    @property
    def usage(self) -> dict[str, float]:
        """What was reported so far, by unit."""
        with self._lock:
            return dict(self._usage)

    def action(
        self,
        tool: str,
        effect: str = "",
        *,
        input: Any = None,  # noqa: A002  what people call it
        summary: str = "",
        approval: str = "",
        call_id: str = "",
    ) -> Action:
        """Something this attempt does outside, for `with` or `async with`: written down before the
        body runs, and after it with its outcome.

        `effect` is its class (`external_write`, …); the server knows that of common tools. What is
        `external_irreversible` needs the token of an approval. The same `call_id` is the same
        action however often it is said.
        """
        if self.desk is None:
            raise ActionRefused("this attempt has no ledger: its server is too old for one")
        with self._lock:
            self._calls += 1
            number = self._calls
        start = ActionStart(
            attempt_id=self.attempt_id,
            token=self.token,
            call_id=call_id or str(number),
            tool=tool,
            effect=effect,
            input=input,
            summary=summary,
            approval_token=approval,
        )
        return Action(self.desk, start)

    def ask(
        self,
        question: str,
        options: Sequence[str] | Mapping[str, str] = (),
        *,
        default: str = "",
        timeout_s: float = 0.0,
        blocks_run: bool = False,
    ) -> str:
        """What a person says: one of the options, by name or with a label for each, or a text where
        there are none.

        The attempt ends here and holds nothing while the task waits. The next one comes by here
        again and is told the answer, so what went before it is done once more. `default` counts if
        nobody answers within `timeout_s`.
        """
        told = answer_in(self._told("ask"), question)
        if told is not None:
            return told
        raise Asked(question_of(question, options, default, timeout_s, blocks_run=blocks_run))

    def artifact(
        self,
        kind: str,
        uri: str,
        *,
        digest: str,
        version: str = "1",
        content_type: str = "",
        summary: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Hand something in with the result that lies elsewhere: tasks after this one are told."""
        self._told("artifact")
        made = {"kind": kind, "uri": uri, "version": version, "digest": digest}
        more = {"content_type": content_type, "summary": summary, "metadata": metadata}
        self.artifacts.append({**made, **{name: value for name, value in more.items() if value}})

    def _told(self, wanted: str) -> Brief:
        if self.brief is None:
            hint = "a flow asks by a node of its own" if wanted == "ask" else "return it instead"
            raise PermanentError(f"ctx.{wanted} is for tasks of plans: {hint}")
        return self.brief

    @property
    def blackboard(self) -> Blackboard:
        """What this run's tasks let each other know: read all of it, write below your own task."""
        if self.desk is None:
            raise PermanentError("this attempt has no blackboard: its server is too old for one")
        return Blackboard(self.desk, self.attempt_id, self.task_id, self.token)

    @property
    def has_env(self) -> bool:
        """Whether this attempt has an environment of its own."""
        return self._told_env is not None and self.desk is not None

    @cached_property
    def env(self) -> Env:
        """The place this attempt is done in."""
        if self._told_env is None:
            text = "this attempt has no environment: give its node an `env`"
            raise PermanentError(text)
        if self.desk is None:
            raise PermanentError(
                "this worker does not reach the server over HTTP; environments need that"
            )
        return Env(self.desk, self.attempt_id, self.token, self._told_env)

    @property
    def log_text(self) -> str:
        with self._lock:
            return "\n".join(record.text for record in self._records)

    def records(self, after: int = 0) -> list[Record]:
        """What was logged behind so many characters of the log."""
        with self._lock:
            records = self._records
            first = bisect_left(records, after, key=lambda record: record.start)
            return records[first:]

    @property
    def marks(self) -> list[LogMark]:
        """What is known of stretches of the log."""
        return marks_of(self.records())

    def age_ms(self, record: Record) -> int:
        """How long ago something was logged."""
        return max(0, round((self._clock() - record.at) * 1000))

    def on_log(self, act: Callable[[], object] | None) -> None:
        """Have `act` called whenever a line was added, from whichever thread adds it."""
        with self._lock:
            self._on_log = act

    def on_stop(self, act: Callable[[], object] | None) -> None:
        """Have `act` called once when the attempt should stop, from whichever thread says so."""
        with self._lock:
            self._on_stop = act
            already = self._stop is not None
        if already and act is not None:
            act()

    def stop(self, reason: Stop) -> None:
        """Tell the handler to stop; the first reason counts, but a lost lease beats any other."""
        with self._lock:
            first = self._stop is None
            if first or reason is Stop.LOST:
                self._stop = reason
            act = self._on_stop if first else None
        if act is not None:
            act()
