"""What the scenarios of plans share: the surface, its words, and who is moved by hand."""

from typing import Any
from uuid import uuid4

from tests.hand import HandWorker, named
from tests.integration.conftest import Served
from tests.integration.test_orchestration import Surface
from windlass.testing.processes import wait_until

TASK_ENDS = {"completed", "failed", "cancelled"}
CHOICES = [{"id": "x", "kind": "choice", "label": "X"}, {"id": "y", "kind": "choice", "label": "Y"}]


class Hand(HandWorker):
    """A worker under a name of its own, so that several may serve one profile."""

    def __init__(self, served: Served, service: str, name: str = "") -> None:
        super().__init__(served.http, service)
        if name:
            self._at = f"/api/v1/workers/{name}"
            body = {"id": name, "transport": "pull", "services": [service], "capacity": 4}
            assert served.http.post("/api/v1/workers", json=body).status_code in (200, 201)

    def told(self, attempt: dict[str, Any], output: object) -> str:
        """Hand in a result; what the server says of it."""
        results = [{**named(attempt), "output": output}]
        return str(self._exchange(results=results)["results"][0]["status"])

    def gets(self) -> list[dict[str, Any]]:
        """What is there to be taken at this moment."""
        found: list[dict[str, Any]] = self._exchange(slots=4, waitMs=0)["attempts"]
        return found

    def loses(self, attempt: dict[str, Any]) -> bool:
        """Whether the lease, asked to be renewed, is another's or nobody's."""
        return attempt["attemptId"] in self._exchange(renew=[attempt["attemptId"]])["lost"]

    def is_to_stop(self, attempt: dict[str, Any]) -> bool:
        return attempt["attemptId"] in self._exchange(renew=[attempt["attemptId"]])["cancel"]


class Plans(Surface):
    """The surface, with what the scenarios ask of it again and again."""

    def planned_by(self, planner: str, **more: Any) -> str:
        return str(
            self.post("/runs", 201, goal="plan it", planner_profile=planner, **more)["run_id"]
        )

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/runs/{run_id}/snapshot")["run"]
        return found

    def inspect(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/runs/{run_id}/inspector")
        return found

    def until_task(self, run_id: str, alias: str, status: str) -> None:
        wait_until(lambda: self.statuses(run_id).get(alias) == status, 20)

    def ask(self, run_id: str, alias: str, want: int = 201, **more: Any) -> str:
        place = self.tasks(run_id)[alias]["id"]
        body = {"question": "Which?", "options": CHOICES, **more}
        made = self.post(f"/runs/{run_id}/tasks/{place}/checkpoints", want, **body)
        return str(made["checkpoint"]["id"]) if want == 201 else ""

    def choose(self, checkpoint: str, option: str = "x", want: int = 200) -> None:
        body = {"mode": "select_option", "option_id": option}
        self.post(f"/checkpoints/{checkpoint}/resolve", want, **body)

    def replan(self, run_id: str, *tasks: dict[str, Any], want: int = 200) -> None:
        hint = {"kind": "replan_request", "details": {"replacement_plan": {"tasks": list(tasks)}}}
        self.post(f"/runs/{run_id}/hints", want, hint=hint)


def judged(by: str, **more: Any) -> dict[str, Any]:
    """A task's fields that have its results judged."""
    return {"verification_policy": {"verifier_profile": by, **more}}


def unique(word: str) -> str:
    """A profile that no other test serves."""
    return f"{word}.{uuid4().hex[:8]}"
