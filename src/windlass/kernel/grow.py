"""Taking a patch: the run's graph changes while it runs, and only what it concerns is redone.

A task stands while its node, the edges into it and everything before it are as they were. What no
longer stands is superseded with what came of it; then edges are counted anew in the new graph, so
that new nodes begin, and joins wait for what is new.
"""

from collections.abc import Sequence

from windlass.kernel.downstream import downstream, is_called
from windlass.kernel.ending import end_run
from windlass.kernel.leases import is_planning
from windlass.kernel.patching import extended, problems_of, scopes_of
from windlass.kernel.placement import unbind
from windlass.kernel.recount import recount
from windlass.kernel.redo import restore_scopes
from windlass.kernel.routing import end_scope
from windlass.kernel.superseded import mark_superseded
from windlass.kernel.turn import Turn
from windlass.model.errors import Conflict, DefinitionError
from windlass.model.graph import SCOPES, Graph
from windlass.model.patches import GraphPatch, Patch, read_patch
from windlass.model.quotas import is_queued
from windlass.model.rows import Task
from windlass.model.states import RUN_ENDED, TASK_ENDED, RunState, TaskState


def already(turn: Turn, patch: Patch, revision: int) -> int | None:
    """The revision a patch made when it came before; refused if it is for another graph."""
    now = turn.run.graph_rev
    if revision == now:
        return None
    if revision < now:
        known = turn.get(GraphPatch, (turn.run_id, revision + 1))
        if known is not None and read_patch(known.patch) == patch:
            return revision + 1
    text = f"the graph of run {turn.run_id} is at revision {now}, the patch is for {revision}"
    raise Conflict(f"{text}; look at it again")


def patch_graph(turn: Turn, patch: Patch, within: str = "") -> int:
    """Take a patch; returns the new revision. The turn goes on with the new graph. All it concerns
    may be `within` one container, which is then the caller's to end."""
    run = turn.run
    if run.state in RUN_ENDED or run.state is RunState.CANCELLING:
        raise Conflict(f"run {run.id} is {run.state}; its graph cannot grow any more")
    text = patch.json()
    found = problems_of(turn.graph, patch, turn.limits, run.graph_rev, len(text))
    if found:
        raise DefinitionError(found)
    tasks = tasks_within(turn, within) if within else turn.all_tasks()
    check_open(tasks, patch)
    dropped = no_longer_standing(turn.graph, tasks, patch)
    for row in dropped:
        mark_superseded(turn, row)
    before = turn.graph.packages
    turn.graph = extended(turn.graph, patch)
    turn.grown = True
    turn.view.memo.clear()
    unbind(turn, set(before) - set(turn.graph.packages))
    revision = run.graph_rev + 1
    turn.set_run(graph_rev=revision)
    turn.make(GraphPatch(run_id=run.id, rev=revision, patch=text, created_at=turn.now))
    ids = {row.id for row in dropped}
    scopes = {row.scope for row in dropped if row.scope not in ids}
    if scopes:
        restore_scopes(turn, tasks, scopes, ids)
    turn.note(revision=revision, added=len(patch.nodes), dropped=list(patch.drop))
    if is_queued(run):
        return revision  # It has yet to begin, and does so with the graph it has by then.
    recount(turn, [row for row in tasks if not is_called(turn.graph, row)], within)
    if not within:
        end_what_is_over(turn, tasks)
    return revision


def tasks_within(turn: Turn, container: str) -> list[Task]:
    """A container's task and all that is in it, in the order they were made."""
    inside = f"{container}~"
    return [t for t in turn.all_tasks() if t.id == container or t.id.startswith(inside)]


def check_open(tasks: Sequence[Task], patch: Patch) -> None:
    """A container that has ended handed out its results; redoing it comes first."""
    scopes = scopes_of(patch)
    for task in tasks:
        ended = task.state in TASK_ENDED and task.state is not TaskState.SUPERSEDED
        if ended and task.node in scopes and task.node not in patch.drop:
            text = f"container {task.node} has ended, and cannot grow any more"
            raise Conflict(f"{text}; drop it, or retry from a task in it first")


def no_longer_standing(graph: Graph, tasks: Sequence[Task], patch: Patch) -> list[Task]:
    """The tasks that a patch takes the ground from, in the order they were made."""
    changed = {*patch.drop, *patch.redo, *(edge.target for edge in patch.edges)}
    for path in patch.drop:
        changed |= {edge.target for edge in graph.edges.get(path, ())}
    gone: set[str] = set()
    for task in tasks:
        waits = task.state is TaskState.PENDING and task.node not in patch.drop
        if task.node in changed and task.idx < 0 and not waits:
            gone |= {task.id, *(row.id for row in downstream_here(graph, tasks, task))}
    return [row for row in tasks if row.id in gone and row.state is not TaskState.SUPERSEDED]


def downstream_here(graph: Graph, tasks: Sequence[Task], task: Task) -> list[Task]:
    """What came of a task in its own scope; containers around it are open, so nothing came of
    those."""
    inside = f"{task.scope}~"
    return [row for row in downstream(graph, tasks, task) if row.id.startswith(inside)]


def end_what_is_over(turn: Turn, tasks: Sequence[Task]) -> None:
    """A scope whose last open tasks were dropped has come to its end."""
    for row in reversed(tasks):
        task = turn.task(row.id)
        running = task.kind in SCOPES and task.state is TaskState.RUNNING
        if running and is_planning(task):
            continue
        if running and not task.open and not any(v.scope == task.id for v in turn.visits):
            end_scope(turn, task)
    run = turn.run
    if not run.open and not turn.visits and run.state not in RUN_ENDED:
        end_run(turn, RunState.SUCCEEDED)
