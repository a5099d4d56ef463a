"""The ledger: nothing begins without a lease, and nothing irreversible without its own approval."""

from collections.abc import Mapping
from typing import cast

from windlass.model.ledger import Action, Approval, ApprovalState, EffectClass
from windlass.model.rows import Attempt
from windlass.model.states import ATTEMPT_LIVE, Role
from windlass.testing.memory import Commit, MemoryDatabase
from windlass.testing.simulator.checks.rows import expect


def check_ledger(database: MemoryDatabase, commit: Commit) -> None:
    states = {
        cast(Attempt, old).id: cast(Attempt, old).state
        for table, _, old, _ in commit.changes
        if table is Attempt and old is not None
    }
    for table, _, old, new in commit.changes:
        if table is Action and old is None:
            check_begun(database, states, cast(Action, new))
        elif table is Approval and old is not None and new is not None:
            before, after = cast(Approval, old), cast(Approval, new)
            left = before.state is ApprovalState.ACTIVE or before.state is after.state
            expect(left, f"approval {after.id} was {before.state} and is {after.state}")
            same = not before.used_by or before.used_by == after.used_by
            expect(same, f"approval {after.id} was used by {before.used_by} and {after.used_by}")


def check_begun(database: MemoryDatabase, states: Mapping[str, str], action: Action) -> None:
    attempt = database.table(Attempt)[action.attempt_id]
    # A pass may begin an action and end its attempt in one commit.
    live = attempt.state in ATTEMPT_LIVE or states.get(attempt.id) in ATTEMPT_LIVE
    expect(live, f"action {action.id} began although its attempt is {attempt.state}")
    if action.effect is not EffectClass.IRREVERSIBLE:
        return
    expect(attempt.role is not Role.VERIFY, f"a verifier does {action.id}, which stays done")
    approval = database.table(Approval).get(action.approval_id)
    expect(approval is not None, f"nobody allowed {action.id}")
    assert approval is not None
    expect(approval.used_by == action.id, f"{action.id} took the approval of {approval.used_by}")
    mine = approval.attempt_id == action.attempt_id
    expect(mine, f"{action.id} took the approval of {approval.attempt_id}")
    expect(approval.expires_at > action.started_at, f"{action.id} came after its approval ended")
