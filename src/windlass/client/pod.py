"""For programs in pods: what they were given, and how they hand in what came of it.

    from windlass.client.pod import PodAttempt

    with PodAttempt.from_env() as attempt:
        attempt.progress(0.5, "counting")
        attempt.succeed({"rows": count(attempt.input)})

A result is handed in before the program ends, and tried again until the server has it: a pod of a
node with `sdk: true` that ends with exit code 0 and no result has failed. In a `with` block the
server hears of the program every few seconds, with what it has logged, and an exception is handed
in as the failure it is.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from windlass.client.actions import Action
from windlass.client.board import Blackboard
from windlass.client.pod_line import ASIDE_S, PATIENCE_S, PodLine
from windlass.model.errors import StaleLease, Unavailable, WindlassError
from windlass.model.ids import task_of
from windlass.protocol.exchange import LOG_CHARS_MAX, ActionStart
from windlass.protocol.pod_reports import PodReported

BEAT_S = 10.0
_SAID_CHARS = 64_000
"""Of a log, what one report says at most."""


class PodAttempt:
    """The attempt that this pod is. Safe to use from any thread."""

    def __init__(
        self,
        url: str,
        attempt_id: str,
        token: str,
        input: Any = None,  # noqa: A002  what everybody calls it
        sleep: Callable[[float], None] = time.sleep,
        beat_s: float = BEAT_S,
    ) -> None:
        self.attempt_id = attempt_id
        self.input = input
        self.stopped = False
        """Whether the server has said that nobody waits for the result any more."""
        self._token = token
        self._line = PodLine(url, token, sleep)
        self._beat_s = beat_s
        self._lock = threading.Lock()
        self._saying = threading.Lock()
        self._log = ""
        self._logged = self._told = 0
        self._progress: float | None = None
        self._message = ""
        self._calls = 0
        self._handed_in = False
        self._over = threading.Event()
        self._beating: threading.Thread | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "PodAttempt":
        """As the launcher says in the pod's variables."""
        missing = [name for name in _NEEDED if not env.get(name)]
        if missing:
            hint = "is the node's pod.sdk true?"
            raise Unavailable(f"{', '.join(missing)}: not set in this pod; {hint}")
        url, attempt, token = (env[name] for name in _NEEDED)
        return cls(url, attempt, token, json.loads(env.get("WINDLASS_INPUT") or "null"))

    # The result

    def succeed(self, output: Any = None, usage: Mapping[str, float] | None = None) -> None:
        """Hand in the result."""
        self._hand_in({"output": output, "usage": dict(usage or {})})

    def fail(self, message: str, *, retry: bool = True) -> None:
        """Hand in why there is none; without `retry` nobody tries again."""
        self._hand_in({"error": {"kind": "failed" if retry else "fatal", "message": message}})

    def should_stop(self) -> bool:
        """Ask whether nobody waits for the result any more."""
        self._report({})
        return self.stopped

    # While it runs

    def progress(self, share: float, message: str = "") -> None:
        """Say how far the work is, from 0 to 1, and what it is at: told at once."""
        with self._lock:
            self._progress, self._message = min(1.0, max(0.0, share)), message
        self.heartbeat()

    def log(self, text: str) -> None:
        """Add a line to the attempt's log: told with the next heartbeat, and with the result."""
        with self._lock:
            room = LOG_CHARS_MAX - self._logged
            line = f"{text}\n"[:room]
            self._log += line
            self._logged += len(line)

    def heartbeat(self) -> bool:
        """Tell the server that the program is there, and what it has logged since; false if nobody
        waits for it any more. A server that is away is told the next time."""
        with self._lock:
            told: dict[str, Any] = {"beat": True, "message": self._message}
            if self._progress is not None:
                told["progress"] = self._progress
        with contextlib.suppress(Unavailable):
            self._report(told)
        return not self.stopped

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
        """Something this attempt does outside, for `with`: written into the ledger before the body
        runs, and after it with its outcome."""
        with self._lock:
            self._calls += 1
            number = self._calls
        start = ActionStart(
            attempt_id=self.attempt_id,
            token=self._token,
            call_id=call_id or str(number),
            tool=tool,
            effect=effect,
            input=input,
            summary=summary,
            approval_token=approval,
        )
        return Action(self._line, start)

    @property
    def blackboard(self) -> Blackboard:
        """What this run's tasks let each other know: read all of it, write below your own task."""
        return Blackboard(self._line, self.attempt_id, task_of(self.attempt_id), self._token)

    def __enter__(self) -> Self:
        self._beating = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._beating.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._beating is not None:
            self._beating.join()
        if error is not None and not self._handed_in and not self.stopped:
            with contextlib.suppress(WindlassError):
                self.fail(f"{type(error).__name__}: {error}")

    def _beat(self) -> None:
        while not self._over.wait(self._beat_s) and not self.stopped:
            # Whatever is wrong with the line shows where the result is handed in.
            with contextlib.suppress(WindlassError):
                self.heartbeat()

    # Telling

    def _hand_in(self, outcome: dict[str, Any]) -> None:
        while self._unsaid():
            self._report({}, PATIENCE_S)
        answer = self._report(outcome, PATIENCE_S)
        self._handed_in = True
        if answer.status == "stale":
            raise StaleLease(answer.detail or "this attempt does not count any more")

    def _unsaid(self) -> bool:
        with self._lock:
            return bool(self._log) and not self.stopped

    def _report(self, outcome: dict[str, Any], patience_s: float = ASIDE_S) -> PodReported:
        """Say it, with the next piece of the log, which counts once it was answered."""
        with self._saying:
            with self._lock:
                piece, offset = self._log[:_SAID_CHARS], self._told
            said = {"attemptId": self.attempt_id, **outcome}
            if piece:
                said |= {"log": piece, "logOffset": offset}
            raw = self._line.say("report", said, patience_s)
            answer = msgspec.json.decode(raw, type=PodReported)
            with self._lock:
                self._log = self._log[len(piece) :]
                self._told += len(piece)
                self.stopped = self.stopped or answer.stop
            return answer


_NEEDED = ("FLOWFORGE_API_ENDPOINT", "WINDLASS_ATTEMPT", "FLOWFORGE_AUTH_TOKEN")
