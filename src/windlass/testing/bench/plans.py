"""Plans beside plain runs, in one process: what a judged task costs more than one that is not.

`python -m windlass.testing.bench.plans DB [RUNS] [REPEATS]` prints one JSON object.
"""

import asyncio
import sys
import time
from statistics import median
from typing import Any

import msgspec
import uvloop

from windlass.engine import flows, plans
from windlass.testing.bench import flows as definitions
from windlass.testing.bench.embedded import LOCAL, all_finished, finish, start
from windlass.wiring.options import ServerOptions
from windlass.wiring.system import System, running

WAVES = 10
WAVE = 50


def judged_chain(steps: int) -> dict[str, Any]:
    """A line of tasks of what is built in, each judged before the next begins."""
    return {
        "tasks": [_task(f"t{i}", [f"t{i - 1}"] if i else [], judged=True) for i in range(steps)]
    }


def waves(count: int, width: int) -> dict[str, Any]:
    """Tasks in waves: each of one depends on its fellow of the wave before."""
    return {
        "tasks": [
            _task(f"t{i}", [f"t{i - width}"] if i >= width else [], judged=False)
            for i in range(count)
        ]
    }


def _task(alias: str, needs: list[str], *, judged: bool) -> dict[str, Any]:
    task: dict[str, Any] = {
        "alias": alias,
        "goal": "do it",
        "depends_on": needs,
        "worker_profile": "builtin.echo",
        "inputs": {"builtin_workerd": {"structured_output": {"ok": True}}},
    }
    if judged:
        task["verification_policy"] = {"mode": "builtin_basic", "require_structured_output": True}
    return task


async def begin(system: System, plan: dict[str, Any], **more: Any) -> str:
    started, _ = await plans.start(system.engine, {"goal": "be quick", "plan": plan, **more})
    return started.run.id


async def planned_runs(system: System, count: int, steps: int) -> float:
    """Processor time of one run of judged tasks, many at once."""
    plan = judged_chain(steps)
    await finish(system, await begin(system, plan))
    before = time.process_time()
    ids = await asyncio.gather(*(begin(system, plan) for _ in range(count)))
    await all_finished(system, list(ids))
    return (time.process_time() - before) / count


async def plain_runs(system: System, published: flows.Published, count: int) -> float:
    """The same for W1."""
    before = time.process_time()
    ids = await asyncio.gather(*(start(system, published) for _ in range(count)))
    await all_finished(system, list(ids))
    return (time.process_time() - before) / count


async def one_large(system: System) -> tuple[float, float]:
    """Processor and wall time of one plan of many tasks in waves."""
    plan = waves(WAVES * WAVE, WAVE)
    before, began = time.process_time(), time.perf_counter()
    run_id = await begin(system, plan, limits={"plan_tasks": WAVES * WAVE})
    await finish(system, run_id)
    return time.process_time() - before, time.perf_counter() - began


async def measure(
    system: System, count: int = 400, repeats: int = 3, steps: int = 5
) -> dict[str, float]:
    published = await flows.publish(system.engine, "w1", definitions.chain(steps, "local"))
    await finish(system, await start(system, published))
    plain, planned = list[float](), list[float]()
    for _ in range(repeats):
        plain.append(await plain_runs(system, published, count))
        planned.append(await planned_runs(system, count, steps))
    await one_large(system)
    large = [await one_large(system) for _ in range(repeats)]
    return {
        "plain_cpu_us_run": median(plain) * 1e6,
        "planned_cpu_us_run": median(planned) * 1e6,
        "ratio": median(b / a for a, b in zip(plain, planned, strict=True)),
        "large_cpu_s": min(cpu for cpu, _ in large),
        "large_s": min(wall for _, wall in large),
    }


async def main(db: str, *numbers: str) -> None:
    async with running(ServerOptions(db=db, no_auth=True), LOCAL) as system:
        figures = await measure(system, *map(int, numbers))
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
