"""The ledger: what attempts say they do outside, and approvals of what cannot be undone."""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from windlass.engine.engine import Engine
from windlass.kernel.events import ActionBegan, ActionEnded, ApprovalGiven, ApprovalRevoked
from windlass.model.errors import BadRequest
from windlass.model.ids import run_of
from windlass.model.ledger import (
    CALL_ID_MAX,
    PAYLOAD_MAX,
    SUMMARY_MAX,
    TOOL_MAX,
    Action,
    ActionCall,
    ActionOutcome,
    ActionState,
    Approval,
    EffectClass,
    effect_of,
    new_token,
    read_effect,
    read_policy,
    token_hash,
    without_tokens,
)
from windlass.model.rows import Attempt, Row
from windlass.model.states import ATTEMPT_LIVE, AttemptState
from windlass.model.values import storable

EXPIRES_S = 600
EXPIRES_S_MAX = 7 * 86_400
_REASON_MAX = 1_000


class Given(NamedTuple):
    """An approval, and its token: the only time it is seen."""

    approval: Approval
    token: str


async def begin(
    engine: Engine,
    attempt: str,
    call_id: str,
    tool: str,
    effect: str = "",
    *,
    input: Any = None,  # noqa: A002  what people call it
    summary: str = "",
    token: str = "",
) -> str:
    """An attempt is about to do something: `accepted`, or `duplicate` if it said so before."""
    check_name("an action's id", call_id, CALL_ID_MAX)
    check_name("a tool's name", tool, TOOL_MAX)
    call = ActionCall(
        call_id,
        tool,
        effect_of(tool, effect, read_policy(engine.settings.tool_effects)),
        kept(input),
        storable(summary[:SUMMARY_MAX]),
        token,
    )
    answer: str = await engine.submit(ActionBegan(attempt, call))
    return answer


async def end(
    engine: Engine,
    attempt: str,
    call_id: str,
    state: str,
    *,
    output: Any = None,
    error: str = "",
    summary: str = "",
) -> str:
    """How an action went."""
    if state not in (ActionState.COMPLETED, ActionState.FAILED):
        raise BadRequest(f'an action ends "completed" or "failed", not "{state:.60}"')
    outcome = ActionOutcome(
        call_id,
        ActionState(state),
        kept(output),
        storable(str(without_tokens(error))[:PAYLOAD_MAX]),
        storable(summary[:SUMMARY_MAX]),
    )
    answer: str = await engine.submit(ActionEnded(attempt, outcome))
    return answer


def check_name(what: str, given: str, most: int) -> None:
    if not given or len(given) > most or not given.isprintable():
        raise BadRequest(f"{what} has 1 to {most} printable characters")


def kept(value: Any) -> str:
    """A value as the ledger keeps it: without tokens, and its beginning where it is long."""
    text = msgspec.json.encode(without_tokens(value)).decode()
    if len(text) > PAYLOAD_MAX:
        text = msgspec.json.encode({"cut": text[:PAYLOAD_MAX]}).decode()
    return storable(text)


# Approvals


async def approve(
    engine: Engine,
    task: str,
    effect: str,
    reason: str,
    *along: Row,
    approval_id: str = "",
    expires_in_s: float = EXPIRES_S,
    by: str = "",
) -> Given:
    """Allow the attempt that a task has, or has next, one thing that cannot be undone."""
    if read_effect(effect) is not EffectClass.IRREVERSIBLE:
        raise BadRequest(f"only {EffectClass.IRREVERSIBLE} needs an approval; {effect} does not")
    if not reason.strip() or len(reason) > _REASON_MAX:
        raise BadRequest(f"an approval has a reason, of at most {_REASON_MAX:,} characters")
    if not 0 < expires_in_s <= EXPIRES_S_MAX:
        raise BadRequest(f"an approval holds for more than 0 s and at most {EXPIRES_S_MAX:,} s")
    approval_id = approval_id or engine.new_id()
    token = new_token(approval_id, secrets.token_hex(24))
    event = ApprovalGiven(
        run_id=run_of(task),
        task_id=task,
        approval_id=approval_id,
        token_hash=token_hash(token),
        effect=EffectClass.IRREVERSIBLE,
        reason=reason,
        by=by,
        expires_in_ms=int(expires_in_s * 1000),
    )
    approval: Approval = await engine.submit(event, *along)
    return Given(approval, token)


async def revoke(engine: Engine, run_id: str, approval_id: str, *along: Row) -> None:
    await engine.submit(ApprovalRevoked(run_id, approval_id), *along)


# What they stand for now


async def attempts_of(engine: Engine, rows: Sequence[Action | Approval]) -> dict[str, AttemptState]:
    """How the attempts of some rows stand."""
    ids = sorted({row.attempt_id for row in rows})
    async with engine.store.session() as session:
        found = await session.rows(Attempt, ids) if ids else []
    return {row.id: row.state for row in found}


def is_over(approval: Approval, attempts: dict[str, AttemptState]) -> bool:
    """Whether the attempt it is for has ended; one that is still to come has not."""
    state = attempts.get(approval.attempt_id)
    return state is not None and state not in ATTEMPT_LIVE
