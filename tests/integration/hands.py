"""A pull worker in a test's hands: it takes what it is given and says what the test wants."""

from typing import Any

import httpx


class Hand:
    """One worker for some services."""

    def __init__(self, http: httpx.Client, name: str, *services: str) -> None:
        self._http, self._at, self._services = http, f"/api/v1/workers/{name}", list(services)
        body = {"id": name, "transport": "pull", "services": self._services, "capacity": 9}
        assert http.post("/api/v1/workers", json=body).status_code == 200

    def take(self) -> dict[str, Any]:
        """The next attempt."""
        asked = {"services": self._services, "slots": 1, "waitMs": 10_000}
        given = self._http.post(f"{self._at}/exchange", json=asked).json()["attempts"]
        assert given, "nothing to do"
        found: dict[str, Any] = given[0]
        return found

    def say(self, attempt: dict[str, Any], output: Any) -> None:
        result = {"attemptId": attempt["attemptId"], "token": attempt["token"], "output": output}
        sent = {"services": self._services, "slots": 0, "results": [result]}
        answer = self._http.post(f"{self._at}/exchange", json=sent).json()
        assert [row["status"] for row in answer["results"]] == ["accepted"]
