"""Steering a run that goes on: hints to its plan, questions about its tasks, doing without one."""

from windlass.dialects.plan import ROOT
from windlass.engine.engine import Engine
from windlass.kernel.events import HintGiven, QuestionAsked, TaskCancelRequested
from windlass.model.errors import BadRequest, NotFound
from windlass.model.graph import Graph
from windlass.model.hints import Hint, HintKind
from windlass.model.ids import run_of, task_id
from windlass.model.questions import Request
from windlass.model.rows import Row, Run, Task
from windlass.ports.store import Cond

_TEXT_MAX = 4_000


async def task_named(engine: Engine, run: Run, given: str) -> str:
    """A task's id by itself, by its place in the run, by the path of its node, or by its alias in
    the run's plan."""
    if given.startswith(f"{run.id}~"):
        return given
    if given.startswith("~"):
        return f"{run.id}{given}"
    graph = await engine.graphs.load_of(run)
    path = given if "/" in given or given in graph.nodes else f"{ROOT}/{given}"
    if path not in graph.nodes:
        raise NotFound(f'run {run.id} has no task "{given:.200}"; see `windlass plan show`')
    steps, scope = path.split("/"), run.id
    for at in range(len(steps)):
        scope = await _task_at(engine, run, graph, scope, "/".join(steps[: at + 1]))
    return scope


async def _task_at(engine: Engine, run: Run, graph: Graph, scope: str, path: str) -> str:
    """The task of a node in a scope: the only one it can have there, or its newest visit."""
    if path in graph.joins:
        return task_id(scope, path, 0)
    where = [Cond("run_id", "=", run.id), Cond("scope", "=", scope), Cond("node", "=", path)]
    newest = await engine.store.page(Task, where, order="step", descending=True, limit=1)
    if not newest:
        raise NotFound(f"run {run.id} has not come to {path} yet")
    return newest[0].id


async def cancel_task(engine: Engine, task: str, reason: str = "", *along: Row) -> None:
    """Do without a task of a plan; what depends on it is skipped."""
    await engine.submit(TaskCancelRequested(run_of(task), task, reason), *along)


async def ask(
    engine: Engine, task: str, request: Request, *along: Row, name: str = "", by: str = ""
) -> str:
    """Have a person asked before a task of a plan goes on; returns the checkpoint's id, which
    follows from the `name`."""
    name = name or engine.new_id()
    event = QuestionAsked(run_of(task), task, request, name, by)
    answer: str = await engine.submit(event, *along)
    return answer


async def hint(engine: Engine, run_id: str, given: Hint, *along: Row, by: str = "") -> str:
    """Tell a plan something while it goes on; returns the id of the plan's task."""
    check_hint(given)
    answer: str = await engine.submit(HintGiven(run_id, given, by), *along)
    return answer


def check_hint(given: Hint) -> None:
    if given.kind is HintKind.CONTEXT_UPDATE and given.task_id:
        raise BadRequest("a context_update is for the whole run: leave the task out")
    if given.kind is not HintKind.REPLAN_REQUEST and not given.details:
        raise BadRequest(f"a {given.kind} needs details: what is to be added")
    if len(given.summary) > _TEXT_MAX:
        raise BadRequest(f"a hint's summary has at most {_TEXT_MAX:,} characters")
