"""The line from a pod to the server: whatever its program says, repeated until it is heard."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from windlass.client.backoff import Backoff
from windlass.client.problems import error_of
from windlass.model.errors import StaleLease, Unavailable, WindlassError
from windlass.model.values import encoded
from windlass.protocol.blackboard import BoardFound, BoardRead, BoardView, BoardWrite, BoardWrote
from windlass.protocol.exchange import ActionEnd, ActionStart
from windlass.protocol.pod_reports import PODS_PATH

_CALL_S = 30.0
PATIENCE_S = 600.0
"""For how long a server that is away is waited for where the result is at stake."""
ASIDE_S = 20.0
"""The same for what is said beside it."""


class PodLine:
    """Speaks with the attempt's own token; what is said twice counts once."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._url = url.rstrip("/") + PODS_PATH
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._sleep = sleep

    def begin(self, start: ActionStart) -> None:
        self.say("actions", start)

    def end(self, end: ActionEnd) -> None:
        self.say("actions/end", end)

    def write(self, write: BoardWrite) -> int:
        return msgspec.json.decode(self.say("blackboard", write), type=BoardWrote).revision

    def read(self, read: BoardRead) -> list[BoardView]:
        return msgspec.json.decode(self.say("blackboard/read", read), type=BoardFound).items

    def say(self, where: str, said: Any, patience_s: float = ASIDE_S) -> bytes:
        """What the server answers; its refusals are raised as the errors they are."""
        body = encoded(said, str)
        backoff, give_up = Backoff(first_s=0.2, most_s=10.0), time.monotonic() + patience_s
        while True:
            try:
                answer = httpx.post(
                    f"{self._url}/{where}", content=body, headers=self._headers, timeout=_CALL_S
                )
            except httpx.TransportError as error:
                why = str(error) or type(error).__name__
                problem: WindlassError = Unavailable(f"the server cannot be reached: {why}")
            else:
                if answer.status_code == 200:
                    return answer.content
                problem = _problem(answer)
            passing = isinstance(problem, Unavailable)
            if not passing or time.monotonic() > give_up:
                raise problem
            self._sleep(backoff.pause_s())


def _problem(answer: httpx.Response) -> WindlassError:
    problem = error_of(answer.status_code, answer.content)
    if answer.status_code >= 500:
        return problem if isinstance(problem, Unavailable) else Unavailable(str(problem))
    if "stale_lease" in answer.text:
        return StaleLease(str(problem))
    return problem
