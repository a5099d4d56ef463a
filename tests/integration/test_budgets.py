"""Budgets and breakers with real processes: two servers, and workers of two transports."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_recovery import SERVICES
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started, wait_until, worker_process

EACH = 10


class Two(NamedTuple):
    here: Served
    there: Served

    def use(self, key: str) -> dict[str, Any]:
        items = self.there.http.get("/api/v1/limits", params={"key": key}).json()["items"]
        return dict(items[0]) if items else {}

    def question(self, run: str) -> str:
        """The open question of a run, once there is one."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            asked = {"run": run, "state": "open"}
            items = self.there.http.get("/api/v1/checkpoints", params=asked).json()["items"]
            if items:
                return str(items[0]["id"])
            time.sleep(0.1)
        raise AssertionError(
            f"run {run} asks nobody: {self.here.http.get(f'/api/v1/runs/{run}/why').text}"
        )


@pytest.fixture(scope="module")
def two(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: servers.PostgresServer
) -> Iterator[Two]:
    """Two servers on one PostgreSQL, with a worker of each transport."""
    folder: Path = tmp_path_factory.mktemp("budgets")
    db = postgres_server.new_database()
    both = [
        ServerProcess(db, "--admin-token", TOKEN, log=folder / f"server{n}.log") for n in (0, 1)
    ]
    with started(*both):
        workers = [
            worker_process(
                "agents:worker",
                both[number % 2].url,
                transport,
                "--id",
                f"w-{transport}{number}",
                "--concurrency",
                "16",
                token=TOKEN,
                path=[SERVICES],
                log=folder / "worker.log",
            )
            for number, transport in enumerate(("pull", "pull", "push"))
        ]
        with started(*workers):
            found = Two(Served(both[0], db), Served(both[1], db))

            def all_here() -> bool:
                return len(found.here.http.get("/api/v1/workers").json()["items"]) >= len(workers)

            wait_until(all_here)
            yield found
            found.here.http.close()
            found.there.http.close()


def flow(exec_type: str, items: int) -> dict[str, Any]:
    node = {
        "kind": "foreach",
        "exec_type": exec_type,
        "service": "agent",
        "prep": {"input_key": list(range(items))},
        "parallel_mode": "concurrent",
        "post": {"output_key": "out"},
    }
    return {"start": "a", "nodes": {"a": node}}


def test_fifty_agents_over_two_servers_go_over_by_less_than_a_call_and_lose_nothing(
    two: Two,
) -> None:
    two.here.push("fifty", flow("queue", 50))
    budget = {"tokens": 205, "estimate": {"tokens": EACH}}
    run = two.here.start("fifty", {}, budget=budget)
    question = two.question(run)
    use = two.use(f"budget:tokens:{run}")
    assert 205 <= use["spent"] < 205 + EACH
    assert (use["unit"], use["budget"], use["reserved"]) == ("tokens", 205, 0)
    assert "budget of the run is spent" in two.there.http.get(f"/api/v1/runs/{run}/why").text
    answered = two.there.http.post(f"/api/v1/checkpoints/{question}/resolve", json={"answer": 1000})
    assert answered.is_success, answered.text
    assert two.here.wait(run)["state"] == "succeeded"
    assert two.use(f"budget:tokens:{run}")["spent"] == 50 * EACH
    attempts = two.here.http.get(f"/api/v1/runs/{run}/attempts").json()["items"]
    assert len(attempts) == 50, "no work was done twice"


@pytest.mark.parametrize("exec_type", ["queue", "http"])
def test_every_transport_reports_what_was_used(two: Two, exec_type: str) -> None:
    name = f"used-{exec_type}"
    two.here.push(name, flow(exec_type, 3))
    run = two.here.start(name, {}, budget={"tokens": 1000, "money": 1})
    assert two.here.wait(run)["state"] == "succeeded"
    assert two.use(f"budget:tokens:{run}")["spent"] == 3 * EACH
    assert two.use(f"budget:money:{run}")["spent"] == pytest.approx(0.75)
    attempts = two.here.http.get(f"/api/v1/runs/{run}/attempts").json()["items"]
    assert [attempt["usage"] for attempt in attempts] == [{"tokens": EACH, "money": 0.25}] * 3
    again = two.here.http.post(f"/api/v1/runs/{run}/rerun").json()["id"]
    assert two.here.wait(again)["budget"] == {"tokens": 1000, "money": 1}
    assert two.here.http.delete(f"/api/v1/runs/{run}").is_success
    assert two.use(f"budget:tokens:{run}") == {}


def test_a_tenants_budget_is_set_and_raised_at_runtime(two: Two) -> None:
    http = two.there.http
    before = two.use("budget:attempts").get("spent", 0)
    rule = {"pattern": "budget:attempts", "budget": before + 1}
    assert http.put("/api/v1/limit-rules", json=rule).json()["budget"] == before + 1
    two.here.push("tenant-budget", flow("queue", 3))
    # The other server hears of the rule a moment later.
    wait_until(lambda: "budget:attempts" in two.here.http.get("/api/v1/limit-rules").text)
    run = two.there.start("tenant-budget")
    two.question(run)
    assert http.put("/api/v1/limit-rules", json={**rule, "budget": before + 100}).is_success
    assert two.here.wait(run)["state"] == "succeeded"
    assert http.delete("/api/v1/limit-rules", params={"pattern": "budget:attempts"}).is_success
    refused = http.put("/api/v1/limit-rules", json={"pattern": "bank", "budget": 5})
    assert refused.status_code == 400


def test_a_breaker_is_open_at_both_servers_and_one_trial_closes_it(two: Two) -> None:
    node = {"exec_type": "queue", "service": "fragile", "max_retries": 1, "wait_ms": 0}
    two.here.push("fragile", {"start": "a", "nodes": {"a": node}})
    rule = {"pattern": "service:fragile", "tripAfter": 2, "resetS": 4}
    assert two.here.http.put("/api/v1/limit-rules", json=rule).is_success
    assert two.here.run("fragile", {"fails": True})["state"] == "failed"
    assert two.use("service:fragile")["breaker"] == "open"
    run = two.there.start("fragile")
    reasons = two.there.http.get(f"/api/v1/runs/{run}/why")
    wait_until(lambda: "is open after 2 failures" in two.there.http.get(reasons.url).text)
    metrics = two.there.http.get("/metrics").text
    assert 'windlass_breaker_open{tenant="default",key="service:fragile"} 1' in metrics
    assert two.there.wait(run)["state"] == "succeeded"
    assert two.use("service:fragile")["breaker"] == "closed"
    removed = two.here.http.delete("/api/v1/limit-rules", params={"pattern": "service:fragile"})
    assert removed.is_success
