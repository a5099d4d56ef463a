"""`_rt`: what is under way, computed from the rows in the shape the seed kept in shared state."""

from typing import Any

import msgspec

from windlass.engine import runs
from windlass.engine.engine import Engine
from windlass.model.graph import Graph, Strategy
from windlass.model.ids import as_written
from windlass.model.queues import transport_of
from windlass.model.rows import Run, Task, read_failure
from windlass.model.states import TaskState

_BRANCHES_MAX = 1000


async def runtime_state(engine: Engine, run: Run) -> dict[str, Any]:
    """Open top-level containers and waits, keyed `pl:`, `fe:`, `sf:`, `tm:`, `we:`, `ap:`."""
    graph = await engine.graphs.load_of(run)
    async with engine.store.session() as session:
        open_tasks = await session.open_tasks([run.id])
    state: dict[str, Any] = {}
    for task in open_tasks:
        if task.scope != run.id:
            continue
        key = as_written(task.node)
        match task.kind:
            case "parallel":
                state[f"pl:{key}"] = await fan_state(engine, graph, task)
            case "foreach":
                state[f"fe:{key}"] = {"idx": 0} | await fan_state(engine, graph, task)
            case "subflow":
                inside = [row for row in open_tasks if row.scope == task.id]
                state[f"sf:{key}"] = await subflow_state(engine, task, inside)
            case "timer":
                state[f"tm:{key}"] = {"start": task.created_at}
            case "wait":
                state[f"we:{key}"] = {"start": task.created_at}
            case "approval":
                state[f"ap:{key}"] = {}
            case _:
                pass
    return state


async def fan_state(engine: Engine, graph: Graph, task: Task) -> dict[str, Any]:
    node = graph.nodes[task.node]
    done: dict[str, Any] = {}
    errors: dict[str, str] = {}
    if task.total <= _BRANCHES_MAX:
        async with engine.store.session() as session:
            for branch in await session.ended_branches(task.id):
                failure = read_failure(branch.error)
                if branch.state is TaskState.SUCCEEDED:
                    done[str(branch.idx)] = msgspec.Raw((branch.output or "null").encode())
                elif branch.state is TaskState.FAILED and failure is not None:
                    errors[str(branch.idx)] = failure.message
    return {
        "done": done,
        "errs": errors,
        "mode": "concurrent" if node.concurrent else "sequential",
        "max": node.parallel_max,
        "strategy": "" if node.strategy is Strategy.DEFAULT else str(node.strategy),
    }


async def subflow_state(engine: Engine, task: Task, inside: list[Task]) -> dict[str, Any]:
    current = as_written(inside[0].node.rpartition("/")[2]) if inside else ""
    return {"curr": current, "shared": await runs.shared_of(engine, task.id), "last": ""}


async def only_pull_is_out(engine: Engine, run: Run) -> bool:
    """Whether all that moves is with pull workers, or waits for them."""
    async with engine.store.session() as session:
        tasks = await session.open_tasks([run.id])
    calls = [task for task in tasks if task.kind == "call"]
    return bool(calls) and all(transport_of(task.queue or "") == "pull" for task in calls)
