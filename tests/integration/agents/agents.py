"""Agents for tests: a server of their own, a scripted model, and a worker process between."""

from pathlib import Path
from typing import Any

import httpx

from windlass.testing.models import Line, ScriptedCall
from windlass.testing.processes import Process, ServerProcess, wait_until


class Plans:
    """A server with no auth that starts plans."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.http = httpx.Client(base_url=server.url, timeout=70)

    def start(self, goal: str, **body: Any) -> str:
        answer = self.http.post("/api/v1/runs", json={"dialect": "plan", "goal": goal, **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def wait(self, run_id: str, timeout_s: float = 30) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(
            f"/api/v1/runs/{run_id}", params={"waitMs": int(timeout_s * 1000)}
        ).json()
        return found

    def attempts(self, run_id: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.http.get(f"/api/v1/runs/{run_id}/attempts").json()[
            "items"
        ]
        return items

    def question(self, run_id: str) -> dict[str, Any]:
        """The question a run asks, once it does."""

        def asked() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = self.http.get(
                "/api/v1/checkpoints", params={"run": run_id}
            ).json()["items"]
            return found

        question: dict[str, Any] = wait_until(asked)[0]
        return question


def finish(**arguments: Any) -> list[ScriptedCall]:
    return [ScriptedCall("finish", arguments)]


def planned(*tasks: dict[str, Any]) -> Line:
    return Line(role="plan", calls=finish(summary="a plan", tasks=list(tasks)))


def worked(value: Any, **when: Any) -> Line:
    return Line(role="work", calls=finish(summary="done", structured_output=value), **when)


def agents_process(
    server: ServerProcess, url: str, *args: str, folder: Path, log: Path | None = None
) -> Process:
    command = ("worker", "agents", "--server", server.url, "--base-url", url)
    return Process(
        *(*command, "--model", "openai:scripted", "--drain-s", "0", *args),
        env={"PYTHONPATH": str(folder)},
        log=log or folder / "agents.log",
    )
