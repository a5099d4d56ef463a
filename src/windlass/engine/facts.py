"""Facts: what witnesses state about pods, brought to the attempts they are about.

A witness may be late, may say a thing twice, and may speak of pods nobody here knows. Whatever it
states is answered with what became of it; what it means is for the kernel to decide.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from windlass.engine.engine import Engine
from windlass.kernel.events import PodObserved
from windlass.model.errors import NotFound
from windlass.model.ids import attempt_id, task_of
from windlass.model.pods import FactOutcome, PodSighting, write_ref
from windlass.model.values import storable
from windlass.protocol.pod_facts import Envelope, PodFact

_MESSAGE_CHARS_MAX = 2_000
_NAME_CHARS_MAX = 2_000


async def state_all(engine: Engine, envelopes: Sequence[Envelope]) -> list[FactOutcome]:
    """Have facts count, those about one task in their order; what became of each."""
    by_task: defaultdict[str, list[int]] = defaultdict(list)
    for at, envelope in enumerate(envelopes):
        by_task[envelope.data.task_id].append(at)
    outcomes = [FactOutcome.UNKNOWN] * len(envelopes)

    async def one_task(places: Sequence[int]) -> None:
        for at in places:
            outcomes[at] = await state(engine, envelopes[at])

    told = await asyncio.gather(*map(one_task, by_task.values()), return_exceptions=True)
    if failures := [error for error in told if error is not None]:
        raise failures[0]
    return outcomes


async def state(engine: Engine, envelope: Envelope) -> FactOutcome:
    """Have a fact count; what became of it once that is committed."""
    outcome = await _state(engine, envelope.data)
    engine.fact_counts[outcome] += 1
    return outcome


async def _state(engine: Engine, fact: PodFact) -> FactOutcome:
    if not _is_sound(fact):
        return FactOutcome.UNKNOWN
    found = await _attempt_of(engine, fact)
    if found is None:
        return FactOutcome.UNKNOWN
    if fact.attempt is not None and found != attempt_id(task_of(found), fact.attempt):
        return FactOutcome.STALE
    return await observe(engine, found, _sighting(fact))


async def observe(engine: Engine, attempt: str, seen: PodSighting) -> FactOutcome:
    """Have what was seen of an attempt's pod decided."""
    try:
        answer = await engine.submit(PodObserved(attempt, seen))
    except NotFound:
        return FactOutcome.UNKNOWN
    return FactOutcome(answer)


def _is_sound(fact: PodFact) -> bool:
    """Whether every name in it is one that could be stored."""
    names = (fact.task_id, fact.namespace, fact.pod_name, fact.pod_uid)
    return all(len(name) <= _NAME_CHARS_MAX and storable(name) == name for name in names)


async def _attempt_of(engine: Engine, fact: PodFact) -> str | None:
    """Which attempt a fact is about: by the task it names, else by its pod."""
    if "~" in fact.task_id and fact.attempt is not None:
        return attempt_id(fact.task_id, fact.attempt)
    pod = f"{fact.namespace}/{fact.pod_name}"
    refs = [pod, write_ref(pod, fact.pod_uid)]
    rows = await engine.system.store.query("attempts_of_pod", refs=refs)
    return rows[0]["id"] if rows else None


def _sighting(fact: PodFact) -> PodSighting:
    return PodSighting(
        status=fact.status,
        reason=fact.reason,
        pod=f"{fact.namespace}/{fact.pod_name}",
        uid=fact.pod_uid,
        message=storable((fact.message or "")[:_MESSAGE_CHARS_MAX]),
        exit_code=fact.exit_code,
        terminated_reason=storable((fact.terminated_reason or "")[:_MESSAGE_CHARS_MAX]),
        node=storable((fact.node or "")[:_NAME_CHARS_MAX]),
    )
