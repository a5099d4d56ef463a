"""The end of every decision: go wherever the event leads, then settle the run."""

from windlass.kernel import barriers, envs
from windlass.kernel.decision import Decision
from windlass.kernel.nodes import plan
from windlass.kernel.turn import Turn
from windlass.kernel.visits import visit_all


def finish(turn: Turn, type_: str, task_id: str | None, answer: object, **data: object) -> Decision:
    visit_all(turn)
    while turn.replans:
        plan.replan_all(turn)
        visit_all(turn)
    if turn.barriers_before or turn.column("barriers"):
        barriers.keep(turn)
    if turn.with_env:
        envs.follow(turn)
    turn.settle_run()
    decision = turn.decision(type_, task_id, answer, data)
    if turn.grown:
        decision.graph = turn.graph
    return decision
