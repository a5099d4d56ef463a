"""Faults of plans: ends too early, plans forgotten, results that should not stand."""

from tests.faults.planted import Patch, fault
from windlass.kernel import routing, scopes, superseded
from windlass.kernel.nodes import plan
from windlass.kernel.turn import Turn
from windlass.model.rows import Task


@fault("a plan ends with its last task although its planner is being asked")
def plan_ends_while_planned(patch: Patch) -> None:
    patch.setattr(routing, "is_planning", lambda task: False)


@fault("nobody makes the plan anew that a task asked for")
def replan_forgotten(patch: Patch) -> None:
    patch.setattr(plan, "replan_all", lambda turn: turn.replans.clear())


@fault("what a plan has dropped may still hand in its result")
def dropped_not_fenced(patch: Patch) -> None:
    def drop_holds(turn: Turn, task: Task) -> None:
        for kind in scopes.timer_kinds(task):
            turn.drop_timer(task.id, kind)

    patch.setattr(superseded, "drop_holds", drop_holds)
