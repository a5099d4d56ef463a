"""Two trials by the numbers: faulty work under a verifier, and a large plan that is made anew."""

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.hand import HandWorker
from tests.integration.conftest import Served
from windlass.engine import plans, runs
from windlass.model.rows import Attempt, Task
from windlass.model.states import Role, RunState, TaskState
from windlass.model.verdicts import Judgement, Verdict, read_verdict
from windlass.ports.store import Cond
from windlass.wiring.options import ServerOptions
from windlass.wiring.system import System, running

MAKERS, USERS, FAULTY = 150, 50, 50
PAUSE_MS = 150
ROUNDS = 3
NODES = 50


# Faulty work


def made(alias: str, *, good: bool, needs: list[str], judged: bool) -> dict[str, Any]:
    output = {"of": alias} if good else None
    task: dict[str, Any] = {
        "alias": alias,
        "goal": f"make {alias}",
        "depends_on": needs,
        "worker_profile": "builtin.echo",
        "on_failure": "continue",
        "inputs": {"builtin_workerd": {"sleep_ms": PAUSE_MS, "structured_output": output}},
    }
    if judged:
        task["verification_policy"] = {"mode": "builtin_basic", "require_structured_output": True}
    return task


def workshop(faulty: set[str], *, judged: bool) -> dict[str, Any]:
    """Many tasks that make something, and some that use what three of those made."""
    rng = random.Random(17)
    makers = [f"make{i}" for i in range(MAKERS)]
    tasks = [made(name, good=name not in faulty, needs=[], judged=judged) for name in makers]
    for i in range(USERS):
        needs = rng.sample(makers, 3)
        tasks.append(made(f"use{i}", good=True, needs=needs, judged=judged))
    return {"tasks": tasks}


async def worked(system: System, plan: dict[str, Any]) -> tuple[str, float, float]:
    """A run of a plan to its end: its id, processor time and wall time."""
    cpu, began = time.process_time(), time.perf_counter()
    started, _ = await plans.start(system.engine, {"goal": "work", "plan": plan})
    run = await runs.wait_run(system.engine, started.run.id, 60)
    assert run.state is RunState.SUCCEEDED, run.error
    return run.id, time.process_time() - cpu, time.perf_counter() - began


@pytest.mark.anyio
async def test_of_two_hundred_tasks_all_faulty_ones_are_rejected_and_nothing_stands_on_them(
    tmp_path: Path,
) -> None:
    faulty = set(random.Random(5).sample([f"make{i}" for i in range(MAKERS)], FAULTY))
    plan = workshop(faulty, judged=True)
    needs = {task["alias"]: task["depends_on"] for task in plan["tasks"]}
    options = ServerOptions(db=f"sqlite:///{tmp_path / 'trial'}.db", no_auth=True)
    async with running(options) as system:
        run_id, _, _ = await worked(system, plan)
        where = [Cond("run_id", "=", run_id)]
        rows = {
            t.node.partition("/")[2]: t for t in await system.store.page(Task, where, limit=999)
        }
        attempts = await system.store.page(Attempt, where, limit=999)
    verdicts = {row.task_id: row for row in attempts if row.role is Role.VERIFY}
    for alias, row in rows.items():
        if not alias:
            continue
        blocked = alias in needs and any(need in faulty for need in needs[alias])
        if blocked:
            assert (row.state, row.attempts) == (TaskState.SKIPPED, 0), alias
            continue
        verdict = read_verdict(verdicts[row.id].output or "")
        assert isinstance(verdict, Verdict)
        accepted = verdict.verdict is Judgement.ACCEPTED
        assert accepted == (alias not in faulty), alias
        assert (row.state is TaskState.SUCCEEDED) == accepted
        first = min(one.claimed_at for one in attempts if one.task_id == row.id)
        judged_at = [verdicts[rows[need].id].finished_at or 0 for need in needs[alias]]
        assert all(at <= first for at in judged_at), f"{alias} began before its ground was judged"
    assert sum(row.state is TaskState.FAILED for row in rows.values()) == FAULTY


@pytest.mark.anyio
@pytest.mark.timeout(120)
async def test_a_verifier_by_rules_costs_less_than_a_tenth_of_the_time_of_the_work(
    tmp_path: Path,
) -> None:
    options = ServerOptions(db=f"sqlite:///{tmp_path / 'trial'}.db", no_auth=True)
    plain, judged = list[tuple[float, float]](), list[tuple[float, float]]()
    async with running(options) as system:
        for _ in range(ROUNDS):
            plain.append((await worked(system, workshop(set(), judged=False)))[1:])
            judged.append((await worked(system, workshop(set(), judged=True)))[1:])
    more = min(cpu for cpu, _ in judged) - min(cpu for cpu, _ in plain)
    wall = min(wall for _, wall in plain)
    print(f"{more * 1000:.0f} ms of processor time more, the work takes {wall * 1000:.0f} ms")
    assert more < 0.1 * wall


# A plan made anew


def graph(rng: random.Random) -> dict[str, list[str]]:
    """Tasks and what they depend on; the first is depended on by late ones alone."""
    names = [f"t{i}" for i in range(NODES)]
    found: dict[str, list[str]] = {}
    for at, name in enumerate(names):
        before = names[1:at] if at <= 35 else names[:at]
        found[name] = sorted(rng.sample(before, min(len(before), rng.choice((0, 1, 1, 2)))))
    found["t40"] = sorted({*found["t40"], "t0"})
    return found


def after(needs: dict[str, list[str]], changed: set[str]) -> set[str]:
    """What stands on something that changed, itself included."""
    found = set(changed)
    for name in needs:  # they come in an order in which nothing depends on what comes later
        if found & set(needs[name]):
            found.add(name)
    return found


def plan_of(needs: dict[str, list[str]], changed: set[str], service: str) -> list[dict[str, Any]]:
    return [
        {
            "alias": name,
            "goal": f"do {name}",
            "depends_on": before,
            "worker_profile": service,
            "inputs": {"fixed": True} if name in changed else {},
        }
        for name, before in needs.items()
    ]


@pytest.mark.parametrize("seed", [3, 8])
def test_a_large_plan_made_anew_runs_again_what_changed_and_nothing_else(
    served: Served, seed: int
) -> None:
    rng = random.Random(seed)
    service = f"trial{seed}"
    needs = graph(rng)
    worker = HandWorker(served.http, service)
    body = {"dialect": "plan", "goal": "all", "plan": {"tasks": plan_of(needs, set(), service)}}
    run_id = served.http.post("/api/v1/runs", json=body).json()["id"]
    victim, held, done = f"t{rng.randrange(20, 30)}", None, list[str]()
    while True:
        attempt = worker.take()
        alias = attempt["input"]["task"]["alias"]
        if alias == victim:
            break
        if alias == "t0":
            held = attempt
            continue
        done.append(alias)
        worker.finish(attempt, {"of": alias})
        if held is not None:
            worker.renew(held)
    edited = rng.choice(done)
    changed = {victim, "t0", edited}
    again = {"status": "failed", "summary": "the plan is wrong", "request_replan": True}
    worker.finish(attempt, {**again, "child_tasks": plan_of(needs, changed, service)})
    assert held is not None
    late = worker.offer(held, {"late": True})
    assert late != "accepted", "it was superseded while somebody had it"
    ran = Counter[str]()
    for _ in range(len(needs) - len(set(done) - after(needs, changed))):
        attempt = worker.take()
        alias = attempt["input"]["task"]["alias"]
        ran[alias] += 1
        worker.finish(attempt, {"of": alias, "again": True})
    assert served.wait(run_id)["state"] == "succeeded"
    wanted = after(needs, changed) | (set(needs) - set(done))
    assert ran == Counter(dict.fromkeys(wanted, 1)), "each once, and no other"
    check_lineage(served, run_id, victim)


def check_lineage(served: Served, run_id: str, victim: str) -> None:
    """Both plans are in the record, with why the second came, and every attempt of both."""
    first, second = served.http.get(f"/api/v1/runs/{run_id}/revisions").json()["items"]
    assert (first["reason"], second["reason"]) == ("start", "replan")
    assert second["author"].endswith(f"~{victim}.0")
    attempts = served.http.get(f"/api/v1/runs/{run_id}/attempts", params={"limit": 200}).json()
    of_victim = [row for row in attempts["items"] if row["taskId"].endswith(f"~{victim}.0")]
    assert [row["state"] for row in of_victim] == ["failed", "succeeded"]
    of_held = [row for row in attempts["items"] if row["taskId"].endswith("~t0.0")]
    assert [row["state"] for row in of_held] == ["cancelled", "succeeded"]
