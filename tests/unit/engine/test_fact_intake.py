"""Facts out of a queue: stated, kept or given up before the queue hears that they are done with."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from windlass.engine import dead_letters, facts
from windlass.engine.engine import Engine
from windlass.engine.loops.facts import FactIntake, state_kept
from windlass.engine.loops.outbox import Outbox
from windlass.model.access import Audit
from windlass.model.dead_letters import DeadLetter
from windlass.model.effects import FACT, Effect
from windlass.model.errors import Unavailable
from windlass.ports.facts import Delivery
from windlass.protocol.pod_facts import Envelope, PodFact, PodReason, PodStatus
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio


def envelope(event_id: str, task_id: str = "t") -> Envelope:
    data = PodFact(
        task_id=task_id,
        workflow_id="w",
        status=PodStatus.RUNNING,
        event_id=event_id,
        pod_uid="u",
        pod_name="p",
        namespace="default",
        node=None,
        reason=PodReason.RUNNING,
        observed_at=1.0,
    )
    return Envelope(timestamp=1, data=data)


class Source:
    """A queue in memory."""

    def __init__(self, *bodies: bytes) -> None:
        self.left = {str(n): body for n, body in enumerate(bodies)}

    async def take(self) -> list[Delivery]:
        return [Delivery(id_, body) for id_, body in self.left.items()]

    async def done(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            del self.left[id_]

    async def close(self) -> None:
        return None


class Stated:
    """What was stated, by a stand-in that fails as told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ids: list[str] = []
        self.fails: Callable[[str], Exception | None] = lambda event_id: None
        monkeypatch.setattr(facts, "state", self.state)

    async def state(self, engine: Engine, envelope: Envelope) -> str:
        if (error := self.fails(envelope.data.event_id)) is not None:
            raise error
        self.ids.append(envelope.data.event_id)
        return "accepted"


@pytest.fixture
def stated(monkeypatch: pytest.MonkeyPatch) -> Stated:
    return Stated(monkeypatch)


def rows(local: LocalEngine, table: Any) -> list[Any]:
    return list(local.database.table(table).values())


async def test_facts_about_one_task_are_stated_in_order(stated: Stated) -> None:
    source = Source(*(msgspec.json.encode(envelope(name)) for name in "abc"))
    async with local_engine({}) as local:
        assert await FactIntake(local.engine, source).run_once() == 3
    assert (stated.ids, source.left) == (["a", "b", "c"], {})


async def test_in_an_outage_they_are_kept_and_stated_again(stated: Stated) -> None:
    source = Source(msgspec.json.encode(envelope("a")), msgspec.json.encode(envelope("b", "u")))
    async with local_engine({}) as local:
        intake = FactIntake(local.engine, source)
        stated.fails = lambda event_id: Unavailable("the database is away")
        with pytest.raises(Unavailable):
            await intake.run_once()
        assert len(source.left) == 2
        stated.fails = lambda event_id: None
        await intake.run_once()
    assert (set(stated.ids), source.left) == ({"a", "b"}, {})


async def test_what_cannot_be_read_is_a_dead_letter_that_can_be_dropped(stated: Stated) -> None:
    source = Source(b'{"type": "quota"', msgspec.json.encode(envelope("a")), b"", b"\xff\x00")
    async with local_engine({}) as local:
        await FactIntake(local.engine, source).run_once()
        assert (stated.ids, source.left) == (["a"], {})
        letters: list[DeadLetter] = rows(local, DeadLetter)
        assert {(letter.kind, letter.name) for letter in letters} == {("effect", FACT)}
        assert {letter.failure_class for letter in letters} == {"unreadable"}
        assert len(letters) == 3
        noted = Audit(id="x", at=1, actor="me", action="dead.drop")
        await dead_letters.drop(local.engine, letters, noted)
        assert rows(local, DeadLetter) == rows(local, Effect) == []


async def test_the_same_unreadable_fact_twice_is_one_letter(stated: Stated) -> None:
    async with local_engine({}) as local:
        intake = FactIntake(local.engine, Source(b"{", b"{"))
        await intake.run_once()
        assert len(rows(local, DeadLetter)) == 1


async def test_what_goes_wrong_is_left_to_the_outbox_and_holds_up_no_other(stated: Stated) -> None:
    source = Source(*(msgspec.json.encode(envelope(name)) for name in "abc"))
    async with local_engine({}) as local:
        stated.fails = lambda event_id: ValueError("odd") if event_id == "b" else None
        await FactIntake(local.engine, source).run_once()
        assert (stated.ids, source.left) == (["a", "c"], {})
        [effect] = rows(local, Effect)
        assert (effect.kind, effect.state, effect.error) == (FACT, "waiting", "ValueError: odd")
        stated.fails = lambda event_id: None

        async def state(effect: Effect) -> None:
            await state_kept(local.engine, effect)

        await Outbox(local.engine, {FACT: state}).run_once()
        assert stated.ids == ["a", "c", "b"]
        assert rows(local, Effect) == []
