"""The newest runs of a flow side by side, node by node: where they slow down or fail."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import flows
from windlass.engine.engine import Engine
from windlass.model.rows import Run, Task
from windlass.ports.store import Cond
from windlass.protocol.grid_api import GridRun, GridTask, GridView
from windlass.server.caller import engine_of
from windlass.server.http import page_limit, reply
from windlass.server.routes import Route

RUNS = 20
RUNS_MAX = 50
TASKS_MAX = 200
"""Of one run; what lies in containers is counted with them."""


async def grid(request: Request) -> Response:
    """The newest runs of a flow, oldest first, with their outermost tasks."""
    engine = engine_of(request)
    flow = await flows.find_flow(engine, request.path_params["name"])
    # By name, of which there is an index, and then by id: workflows may share a name.
    where = [Cond("flow_name", "=", flow.name), Cond("flow_id", "=", flow.id)]
    limit = page_limit(request, RUNS, RUNS_MAX)
    runs = await engine.store.page(Run, where, descending=True, limit=limit, heavy=False)
    return reply(GridView(runs=[await grid_run(engine, run) for run in reversed(runs)]))


async def grid_run(engine: Engine, run: Run) -> GridRun:
    where = [
        Cond("id", ">", f"{run.id}~"),
        Cond("id", "<", f"{run.id}\x7f"),
        Cond("scope", "=", run.id),
    ]
    tasks = await engine.store.page(Task, where, limit=TASKS_MAX, heavy=False)
    return GridRun(
        id=run.id,
        state=str(run.state),
        failures=run.failures,
        created_at=run.created_at,
        finished_at=run.finished_at,
        tasks=[grid_task(task) for task in sorted(tasks, key=lambda task: task.step)],
    )


def grid_task(task: Task) -> GridTask:
    return GridTask(
        id=task.id,
        node=task.node,
        state=str(task.state),
        attempts=task.attempts,
        started_at=task.started_at or task.created_at,
        finished_at=task.finished_at,
    )


ROUTES = [Route("GET", "/api/v1/flows/{name}/grid", grid, gives=GridView, query=("limit",))]
