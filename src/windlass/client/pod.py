"""For programs in pods: what they were given, and how they hand in what came of it.

    from windlass.client.pod import PodAttempt

    attempt = PodAttempt.from_env()
    attempt.succeed({"rows": count(attempt.input)})

A result is handed in before the program ends, and tried again until the server has it: a pod of a
node with `sdk: true` that ends with exit code 0 and no result has failed.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from windlass.client.backoff import Backoff
from windlass.model.errors import StaleLease, Unauthorized, Unavailable
from windlass.protocol.pod_reports import REPORT_PATH

_CALL_S = 30.0
_PATIENCE_S = 600.0
"""For how long a server that is away is waited for."""


class PodAttempt:
    """The attempt that this pod is."""

    def __init__(
        self,
        url: str,
        attempt_id: str,
        token: str,
        input: Any = None,  # noqa: A002  what everybody calls it
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.attempt_id = attempt_id
        self.input = input
        self._url = url.rstrip("/") + REPORT_PATH
        self._token = token
        self._sleep = sleep

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "PodAttempt":
        """As the launcher says in the pod's variables."""
        missing = [name for name in _NEEDED if not env.get(name)]
        if missing:
            hint = "is the node's pod.sdk true?"
            raise Unavailable(f"{', '.join(missing)}: not set in this pod; {hint}")
        url, attempt, token = (env[name] for name in _NEEDED)
        return cls(url, attempt, token, json.loads(env.get("WINDLASS_INPUT") or "null"))

    def succeed(self, output: Any = None, usage: Mapping[str, float] | None = None) -> None:
        """Hand in the result."""
        self._hand_in({"output": output, "usage": dict(usage or {})})

    def fail(self, message: str, *, retry: bool = True) -> None:
        """Hand in why there is none; without `retry` nobody tries again."""
        self._hand_in({"error": {"kind": "failed" if retry else "fatal", "message": message}})

    def should_stop(self) -> bool:
        """Whether nobody waits for the result any more."""
        return bool(self._post({})["stop"])

    def _hand_in(self, outcome: dict[str, Any]) -> None:
        answer = self._post(outcome)
        if answer["status"] == "stale":
            raise StaleLease(str(answer.get("detail") or "this attempt does not count any more"))

    def _post(self, outcome: dict[str, Any]) -> dict[str, Any]:
        body = {"attemptId": self.attempt_id, **outcome}
        headers = {"Authorization": f"Bearer {self._token}"}
        backoff, give_up = Backoff(first_s=0.2, most_s=10.0), time.monotonic() + _PATIENCE_S
        while True:
            try:
                answer = httpx.post(self._url, json=body, headers=headers, timeout=_CALL_S)
            except httpx.TransportError as error:
                why = str(error) or type(error).__name__
            else:
                if answer.status_code == 200:
                    taken: dict[str, Any] = answer.json()
                    return taken
                why = f"{answer.status_code} {answer.text[:200]}"
                if answer.status_code in (401, 403):
                    raise Unauthorized(why)
                if answer.status_code < 500 and answer.status_code != 429:
                    raise Unavailable(f"the server does not take this: {why}")
            if time.monotonic() > give_up:
                raise Unavailable(f"the server cannot be reached: {why}")
            self._sleep(backoff.pause_s())


_NEEDED = ("FLOWFORGE_API_ENDPOINT", "WINDLASS_ATTEMPT", "FLOWFORGE_AUTH_TOKEN")
