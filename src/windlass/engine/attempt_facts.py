"""What workers state about their attempts on a bus, brought to the attempts.

A fact is valid, known, about the right run and task, and of the present epoch, or nothing follows
from it. One that is accepted confirms what a lease would decide, or hastens it: an attempt that is
lost is taken back at once rather than when its lease runs out. Only whoever has the attempt's token
can hasten anything.
"""

import hmac

from windlass.engine.attempts import attempt_token
from windlass.engine.engine import Engine
from windlass.kernel.events import AttemptFailed, AttemptStarted
from windlass.model.errors import NotFound, StaleLease
from windlass.model.ids import attempt_id, run_of, task_of
from windlass.model.pods import FactOutcome
from windlass.model.rows import Attempt, Failure
from windlass.model.states import ATTEMPT_LIVE
from windlass.protocol.attempt_facts import AttemptFact

_ENDS = frozenset({"lost", "failed", "start_failed"})


async def state(engine: Engine, fact: AttemptFact) -> FactOutcome:
    """Have a fact count; what became of it once that is committed."""
    outcome = await _state(engine, fact)
    engine.fact_counts[outcome] += 1
    return outcome


async def _state(engine: Engine, fact: AttemptFact) -> FactOutcome:
    if not fact.is_sound or "@" not in fact.attempt_id:
        return FactOutcome.IGNORED
    async with engine.system.store.session() as session:
        found = await session.rows(Attempt, [fact.attempt_id])
    if not found:
        return FactOutcome.UNKNOWN
    [attempt] = found
    if fact.run_id != run_of(attempt.id) or fact.task_id not in ("", task_of(attempt.id)):
        return FactOutcome.UNKNOWN
    if attempt.id != attempt_id(attempt.task_id, fact.claim_epoch):
        return FactOutcome.STALE
    proven = await _is_proven(engine, fact)
    if proven is False:
        return FactOutcome.STALE
    if attempt.state not in ATTEMPT_LIVE:
        return (
            FactOutcome.DUPLICATE
            if fact.deed in ("claimed", "started")
            else _of_an_end(fact, attempt)
        )
    return await _count(engine, fact, proven=proven is True)


def _of_an_end(fact: AttemptFact, attempt: Attempt) -> FactOutcome:
    """What a fact about an attempt that is over says: what is known, or too late another thing."""
    completed = fact.deed == "completed"
    return (
        FactOutcome.DUPLICATE if completed == (attempt.state == "succeeded") else FactOutcome.STALE
    )


async def _is_proven(engine: Engine, fact: AttemptFact) -> bool | None:
    """Whether whoever states it has the attempt's token; None where no token is shown."""
    if not fact.claim_token:
        return None
    secret = bytes.fromhex(await engine.system.store.secret())
    expected = attempt_token(secret, fact.attempt_id)
    return hmac.compare_digest(expected.encode(), fact.claim_token.encode())


async def _count(engine: Engine, fact: AttemptFact, *, proven: bool) -> FactOutcome:
    if not proven:
        return FactOutcome.ACCEPTED
    try:
        if fact.deed == "started":
            await engine.submit(AttemptStarted(fact.attempt_id))
        elif fact.deed in _ENDS:
            # Whether the work itself failed is for its result to say; here it is only not done.
            text = f"its worker stated {fact.type}: {str(fact.payload.get('reason') or '')[:500]}"
            await engine.submit(AttemptFailed(fact.attempt_id, Failure("lost", text)))
    except (NotFound, StaleLease):
        return FactOutcome.STALE
    return FactOutcome.ACCEPTED
