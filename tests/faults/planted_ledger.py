"""Faults of the ledger: what is done outside, and by whose leave."""

from msgspec.structs import replace

from tests.faults.planted import Patch, fault
from windlass.kernel import ledger, reports
from windlass.kernel.decision import Decision
from windlass.kernel.events import ActionBegan
from windlass.kernel.finish import finish
from windlass.kernel.turn import Turn
from windlass.model.ids import task_of
from windlass.model.ledger import Approval, ApprovalState, approval_named
from windlass.model.rows import Attempt


@fault("an attempt that has lost its task goes on doing things outside", needs=["act"])
def action_not_fenced(patch: Patch) -> None:
    def action_began(turn: Turn, event: ActionBegan) -> Decision:
        attempt = turn.get(Attempt, event.attempt_id)
        assert attempt is not None
        task = turn.task(task_of(event.attempt_id))
        if ledger.begin(turn, task, attempt, event.call) is None:
            return Decision(answer="duplicate")
        return finish(turn, "action.began", task.id, "accepted")

    patch.setattr(reports, "action_began", action_began)


@fault("an approval counts for as many actions as like", needs=["act"])
def approval_counts_again(patch: Patch) -> None:
    right = ledger.use_approval

    def use_approval(turn: Turn, *rest: object) -> Approval:
        used = right(turn, *rest)  # type: ignore[arg-type]
        turn.change(replace(used, state=ApprovalState.ACTIVE))
        return used

    patch.setattr(ledger, "use_approval", use_approval)


@fault("an approval of one attempt opens the door to another", needs=["act"])
def approval_of_another(patch: Patch) -> None:
    right = ledger.use_approval

    def use_approval(turn: Turn, attempt: Attempt, *rest: object) -> Approval:
        tokens = [word for word in rest if isinstance(word, str) and word.startswith("wla_")]
        named = approval_named(tokens[0]) if tokens else ""
        found = turn.get(Approval, named) if named else None
        meant = attempt if found is None else replace(attempt, id=found.attempt_id)
        return right(turn, meant, *rest)  # type: ignore[arg-type]

    patch.setattr(ledger, "use_approval", use_approval)


@fault("an approval counts long after it has ended", needs=["act"])
def approval_never_ends(patch: Patch) -> None:
    right = ledger.use_approval

    def use_approval(turn: Turn, *rest: object) -> Approval:
        now, turn.now = turn.now, 0
        try:
            return right(turn, *rest)  # type: ignore[arg-type]
        finally:
            turn.now = now

    patch.setattr(ledger, "use_approval", use_approval)
