"""Edges counted anew, after a redo has changed which of them are settled.

What waits for its edges, or counts no longer, is told by its predecessors as they stand now: those
that ended well, or whose failure was caught, have settled theirs; all others are still to come.
What was settled while nobody followed edges, as a run was being cancelled, is followed now.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from windlass.kernel.downstream import is_called
from windlass.kernel.leases import is_planning
from windlass.kernel.routing import edges_taken, is_settled
from windlass.kernel.turn import Turn, Visit
from windlass.model.graph import SCOPES, Edge
from windlass.model.ids import task_id
from windlass.model.rows import Task
from windlass.model.states import TaskState

_NOT_BEGUN = (TaskState.SUPERSEDED, TaskState.PENDING)


def recount(turn: Turn, tasks: Sequence[Task], within: str = "") -> None:
    """Set the counts of every node that has not begun, in every scope that is open, or in those
    `within` one container."""
    rows = {task.id: turn.task(task.id) for task in tasks}
    settled = Settled(turn, list(rows.values()))
    below = _joins_below(turn)
    scopes = list(_open_scopes(turn, rows.values()))
    for scope, path in scopes[1:] if within else scopes:
        for target in below[path]:
            row = rows.get(task_id(scope, target, 0))
            if row is None:
                arrivals = settled.arrivals(scope, target) if settled.into[target] else [True]
                turn.visits += [Visit(scope, target, fired) for fired in arrivals]
            elif row.state in _NOT_BEGUN:
                _recount_one(turn, row, settled)
    for row in rows.values():
        around = rows.get(row.scope)
        if around is not None and around.state is TaskState.SUPERSEDED:
            # Its container begins from the start when it is visited again.
            turn.move(row, row.state, edges_open=turn.graph.joins.get(row.node, 0), edges_fired=0)


def _recount_one(turn: Turn, row: Task, settled: "Settled") -> None:
    edges = len(settled.into[row.node])
    arrivals = settled.arrivals(row.scope, row.node) if edges else [True]
    still = max(edges, 1) - len(arrivals)
    if not still:
        # The last one arrives now, and lets the task begin.
        turn.visits.append(Visit(row.scope, row.node, arrivals.pop()))
    turn.move(row, row.state, edges_open=still or 1, edges_fired=sum(arrivals))


def _joins_below(turn: Turn) -> defaultdict[str, list[str]]:
    below: defaultdict[str, list[str]] = defaultdict(list)
    for path in turn.graph.joins:
        below[path.rpartition("/")[0]].append(path)
    return below


def _open_scopes(turn: Turn, rows: Iterable[Task]) -> Iterator[tuple[str, str]]:
    yield turn.run_id, ""
    for row in rows:
        open_ = row.state is TaskState.RUNNING or is_planning(row)
        if row.kind in SCOPES and open_:
            yield row.id, row.node


class Settled:
    """The edges that the tasks of a run have settled, and whether they fired."""

    def __init__(self, turn: Turn, tasks: Sequence[Task]) -> None:
        self._turn = turn
        self._taken: dict[str, set[int]] = {}
        self._newest: dict[tuple[str, str], Task] = {}
        for task in sorted(tasks, key=lambda task: task.step):
            if task.state is not TaskState.SUPERSEDED and not is_called(turn.graph, task):
                self._newest[task.scope, task.node] = task
        self.into: defaultdict[str, list[Edge]] = defaultdict(list)
        for edges in turn.graph.edges.values():
            for edge in edges:
                if edge.target is not None:
                    self.into[edge.target].append(edge)

    def arrivals(self, scope: str, target: str) -> list[bool]:
        """For each edge into a node that is settled, whether it fired."""
        found: list[bool] = []
        for edge in self.into[target]:
            source = self._newest.get((scope, edge.source))
            if source is not None and is_settled(self._turn.graph, source):
                found.append(id(edge) in self._edges_taken(source))
        return found

    def _edges_taken(self, source: Task) -> set[int]:
        if source.id not in self._taken:
            self._taken[source.id] = {id(edge) for edge in edges_taken(self._turn, source)}
        return self._taken[source.id]
