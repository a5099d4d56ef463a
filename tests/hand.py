"""A pull worker whose every move a test makes by hand."""

from collections.abc import Sequence
from typing import Any

import httpx


class HandWorker:
    """Registered for one service; takes, logs and ends attempts when told to."""

    def __init__(self, http: httpx.Client, service: str) -> None:
        self._http = http
        self._service = service
        self._at = f"/api/v1/workers/hand-{service}"
        body = {"id": f"hand-{service}", "transport": "pull", "services": [service], "capacity": 4}
        answer = self._http.post("/api/v1/workers", json=body)
        assert answer.status_code in (200, 201), answer.text

    def _exchange(self, **body: object) -> dict[str, Any]:
        answer = self._http.post(f"{self._at}/exchange", json={"services": [self._service], **body})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def take(self) -> dict[str, Any]:
        """The next attempt, however long it takes to come."""
        for _ in range(20):
            if attempts := self._exchange(slots=1, waitMs=2000)["attempts"]:
                taken: dict[str, Any] = attempts[0]
                return taken
        raise AssertionError(f"no attempt of {self._service} came")

    def say(
        self, attempt: dict[str, Any], text: str, offset: int = 0, marks: Sequence[object] = ()
    ) -> None:
        piece = {**named(attempt), "offset": offset, "text": text, "marks": list(marks)}
        self._exchange(said=[piece], renew=[attempt["attemptId"]])

    def renew(self, attempt: dict[str, Any]) -> None:
        self._exchange(renew=[attempt["attemptId"]])

    def fail(self, attempt: dict[str, Any], message: str) -> None:
        self._exchange(
            results=[{**named(attempt), "error": {"kind": "failed", "message": message}}]
        )

    def finish(self, attempt: dict[str, Any], output: object) -> None:
        told = self.offer(attempt, output)
        assert told == "accepted", told

    def offer(self, attempt: dict[str, Any], output: object) -> str:
        """Hand a result in; what the server makes of it."""
        [told] = self._exchange(results=[{**named(attempt), "output": output}])["results"]
        return str(told["status"])

    def begin_action(self, attempt: dict[str, Any], tool: str, effect: str, **more: object) -> str:
        """Say what the attempt is about to do outside; its own name for that."""
        call = f"{tool}-1"
        body = {**named(attempt), "callId": call, "tool": tool, "effect": effect, **more}
        self._say_of("actions", body)
        return call

    def end_action(self, attempt: dict[str, Any], call: str, output: object) -> None:
        body = {**named(attempt), "callId": call, "state": "completed", "output": output}
        self._say_of("actions/end", body)

    def put_on_board(self, attempt: dict[str, Any], key: str, payload: object) -> None:
        """Put something on the blackboard, below the attempt's own task."""
        below = attempt["attemptId"].rpartition("@")[0]
        self._say_of(
            "blackboard", {**named(attempt), "key": f"bb.task.{below}.{key}", "payload": payload}
        )

    def _say_of(self, what: str, body: dict[str, Any]) -> None:
        answer = self._http.post(f"{self._at}/{what}", json=body)
        assert answer.status_code == 200, answer.text


def named(attempt: dict[str, Any]) -> dict[str, Any]:
    return {"attemptId": attempt["attemptId"], "token": attempt["token"]}
