"""Takes in facts from a queue. What it has taken is stated, or kept as an effect, before the queue
hears that it is done with, so a crash has it stated again and never lost.

What cannot be read is a dead letter at once; what goes wrong while it is stated becomes an effect
of the kind `fact`, which the outbox tries again and gives up in the end, as any other.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from windlass.engine import attempt_facts, facts
from windlass.engine.engine import Engine
from windlass.model.dead_letters import letter_of_effect
from windlass.model.effects import FACT, Effect
from windlass.model.errors import BadRequest, Unavailable
from windlass.model.tenants import DEFAULT
from windlass.model.values import readable
from windlass.ports.facts import Delivery, FactSource
from windlass.protocol.attempt_facts import AttemptFact
from windlass.protocol.pod_facts import Envelope

log = logging.getLogger(__name__)

Fact = Envelope | AttemptFact

_BODY_CHARS_MAX = 64_000


class FactIntake:
    """One process's share of the facts of a queue."""

    def __init__(self, engine: Engine, source: FactSource) -> None:
        self._engine = engine
        self._source = source
        self._left: list[Delivery] = []
        """Taken, and not done with yet: an outage came in between."""

    async def run_once(self) -> int:
        self._left = self._left or await self._source.take()
        taken = self._left
        if taken:
            await self._state_all(taken)
            await self._source.done([delivery.id for delivery in taken])
        self._left = []
        return len(taken)

    async def pause(self) -> None:
        """The source itself waits for news."""

    async def _state_all(self, taken: Sequence[Delivery]) -> None:
        """State facts, those about one task in their order."""
        by_task: defaultdict[str, list[Fact]] = defaultdict(list)
        for delivery in taken:
            try:
                fact = read_fact(delivery.body)
            except (BadRequest, msgspec.DecodeError) as error:
                await self._give_up(delivery, error)
            else:
                by_task[subject_of(fact)].append(fact)
        told = [self._state(some) for some in by_task.values()]
        for outcome in await asyncio.gather(*told, return_exceptions=True):
            if outcome is not None:
                raise outcome

    async def _state(self, some: Sequence[Fact]) -> None:
        for fact in some:
            try:
                await state(self._engine, fact)
            except Unavailable:
                raise
            except Exception as error:
                log.exception("fact %s cannot be stated now", name_of(fact))
                await self._keep(fact, error)

    async def _keep(self, fact: Fact, error: Exception) -> None:
        """Leave a fact to the outbox."""
        body = msgspec.json.encode(fact).decode()
        effect = self._effect(name_of(fact), body, f"{type(error).__name__}: {error}")
        if not await self._known(effect.id):
            await self._engine.write(effect)

    async def _give_up(self, delivery: Delivery, error: Exception) -> None:
        body = delivery.body[:_BODY_CHARS_MAX].decode(errors="replace").replace("\0", "\ufffd")
        log.error("a fact cannot be read: %s", error)
        self._engine.fact_counts["unreadable"] += 1
        effect = self._effect(sha256(delivery.body).hexdigest()[:32], body, f"unreadable: {error}")
        dead = msgspec.structs.replace(effect, state="dead")
        if not await self._known(effect.id):
            letter = letter_of_effect(dead, DEFAULT, "", self._engine.store.now())
            await self._engine.write(dead, letter)

    def _effect(self, id_: str, body: str, error: str) -> Effect:
        now = self._engine.store.now()
        return Effect(
            id=f"fact:{id_[:200]}", kind=FACT, body=body, due_at=now, error=error, created_at=now
        )

    async def _known(self, effect_id: str) -> bool:
        async with self._engine.store.session() as session:
            return bool(await session.rows(Effect, [effect_id]))


async def state_kept(engine: Engine, effect: Effect) -> None:
    """State a fact that was kept: the outbox's handler."""
    await state(engine, read_fact(effect.body.encode()))


# What is said of pods, and of attempts


class _Kind(msgspec.Struct):
    type: str = "task_status"


def read_fact(body: bytes) -> Fact:
    """A fact as it came, of whatever kind; nobody has looked through it before."""
    readable(body, "the fact")
    if msgspec.json.decode(body, type=_Kind).type == "task_status":
        return msgspec.json.decode(body, type=Envelope)
    return msgspec.json.decode(body, type=AttemptFact)


def subject_of(fact: Fact) -> str:
    """What must be heard in order about one thing."""
    return fact.attempt_id if isinstance(fact, AttemptFact) else fact.data.task_id


def name_of(fact: Fact) -> str:
    return fact.fact_id if isinstance(fact, AttemptFact) else fact.data.event_id


async def state(engine: Engine, fact: Fact) -> None:
    if isinstance(fact, AttemptFact):
        await attempt_facts.state(engine, fact)
    else:
        await facts.state(engine, fact)
