"""What is given up for good has a letter, exactly while it is dead, and can be taken up again."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.unit.engine.test_outbox import Desk, effect, outbox, pass_time
from windlass.engine import dead_letters, runs
from windlass.engine.dead_letters import Filter
from windlass.engine.deleting import delete_run
from windlass.model.access import Audit
from windlass.model.dead_letters import DeadLetter
from windlass.model.effects import Effect, worker_address
from windlass.model.errors import BadRequest, NotFound
from windlass.model.rows import Worker
from windlass.model.states import RunState
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio


class Service:
    """Fails for some items until it is mended."""

    def __init__(self, bad: Iterable[Any] = ()) -> None:
        self.bad = set(bad)
        self.calls = 0

    def __call__(self, value: Any, params: dict[str, Any]) -> Any:
        self.calls += 1
        if value in self.bad or "all" in self.bad:
            raise RuntimeError(f"cannot do {value}")
        return value


def single(**node: Any) -> dict[str, Any]:
    return {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "do", **node}}}


def each(items: list[int], **params: Any) -> dict[str, Any]:
    node = {
        "kind": "foreach",
        "exec_type": "queue",
        "service": "do",
        "prep": {"input_key": items},
        "post": {"output_key": "out"},
        "params": params,
    }
    return {"start": "a", "nodes": {"a": node}}


def letters(engine: LocalEngine) -> list[DeadLetter]:
    return sorted(engine.database.table(DeadLetter).values(), key=lambda row: row.id)


def noting(engine: LocalEngine) -> Any:
    def note(letter: DeadLetter) -> Audit:
        now = engine.engine.store.now()
        return Audit(id=engine.engine.new_id(), at=now, actor="me", action="dead.replay")

    return note


async def test_only_the_last_failure_of_a_task_makes_a_letter_and_a_retry_takes_it_away() -> None:
    service = Service(["all"])
    async with local_engine({"do": service}) as engine:
        definition = single(max_retries=2)
        ended = await engine.run(definition)
        assert ended.state is RunState.FAILED
        [letter] = letters(engine)
        assert (letter.id, letter.kind, letter.name) == (ended.tasks[0].id, "task", "a")
        assert (letter.failure_class, letter.flow_name) == ("failed", "test")
        assert letter.tries == service.calls > 1
        assert "cannot do" in letter.message
        history = await dead_letters.history(engine.engine, letter)
        assert [line.number for line in history] == list(range(1, service.calls + 1))
        assert (await dead_letters.next_move(engine.engine, letter)).code == "replay"
        service.bad.clear()
        assert await dead_letters.replay(engine.engine, [letter], noting(engine)) == []
        assert (await engine.ended(ended.run.id)).state is RunState.SUCCEEDED
        assert letters(engine) == []
        assert [row.action for row in engine.database.table(Audit).values()] == ["dead.replay"]


async def test_what_goes_well_writes_no_letter() -> None:
    async with local_engine({"do": Service()}) as engine:
        await engine.run(each([1, 2, 3]))
        assert letters(engine) == []


async def test_all_failed_branches_of_a_fan_out_are_replayed_at_once() -> None:
    service = Service([2, 4, 5])
    async with local_engine({"do": service}) as engine:
        ended = await engine.run(each([1, 2, 3, 4, 5], failure_strategy="collect_errors"))
        dead = letters(engine)
        assert len(dead) == 3, "the fan-out itself has none: what failed is inside it"
        service.bad.clear()
        refused = await dead_letters.replay(engine.engine, dead, noting(engine))
        assert refused == []
        again = await engine.ended(ended.run.id)
        assert again.shared["out"] == [1, 2, 3, 4, 5]
        assert letters(engine) == []


async def test_a_branch_that_fails_again_is_dead_again() -> None:
    service = Service([2, 3])
    async with local_engine({"do": service}) as engine:
        ended = await engine.run(each([1, 2, 3], failure_strategy="collect_errors"))
        service.bad = {3}
        await dead_letters.replay(engine.engine, letters(engine), noting(engine))
        await engine.ended(ended.run.id)
        assert [letter.message for letter in letters(engine)] == ["RuntimeError: cannot do 3"]


async def test_a_task_whose_run_went_on_is_replayed_only_with_what_came_after_it() -> None:
    service = Service(["all"])
    definition = {
        "start": "a",
        "nodes": {
            "a": {"exec_type": "queue", "service": "do"},
            "b": {"exec_type": "queue", "service": "good"},
        },
        "edges": [{"from": "a", "action": "error", "to": "b"}],
    }
    async with local_engine({"do": service, "good": Service()}) as engine:
        ended = await engine.run(definition)
        assert ended.state is RunState.SUCCEEDED
        [letter] = letters(engine)
        [refused] = await dead_letters.replay(engine.engine, [letter], noting(engine))
        assert "retry from" in refused.reason
        assert letters(engine) == [letter]
        service.bad.clear()
        note = noting(engine)
        assert not await dead_letters.replay(engine.engine, [letter], note, descendants=True)
        await engine.ended(ended.run.id)
        assert letters(engine) == []


async def test_what_is_dropped_is_not_heard_of_again_and_a_deleted_run_leaves_nothing() -> None:
    async with local_engine({"do": Service(["all"])}) as engine:
        first = await engine.run(single())
        second = await engine.run(single())
        by_run = {letter.run_id: letter for letter in letters(engine)}
        dropped, kept = by_run[first.run.id], by_run[second.run.id]
        await dead_letters.drop(engine.engine, [dropped], noting(engine)(dropped))
        assert letters(engine) == [kept]
        with pytest.raises(NotFound):
            await dead_letters.get_letter(engine.engine, dropped.id)
        assert (await engine.look(first.run.id)).state is RunState.FAILED
        await delete_run(engine.engine, await runs.get_run(engine.engine, second.run.id))
        assert letters(engine) == []


async def test_an_effect_that_cannot_be_done_is_put_back_or_dropped() -> None:
    async with local_engine({}) as local:
        desk = Desk()
        box = outbox(local, desk, worker_address("w"), tries_max=2)
        worker = Worker(id="w", registered_at=1, seen_at=1, tenant="acme")
        addressed = effect("b", "bad", worker_address("w"))
        await local.engine.write(worker, addressed, effect("c", "bad"))
        for _ in range(4):
            await box.run_once()
            pass_time(local, 600)
        first, second = letters(local)
        assert (first.id, first.kind, first.tenant, first.name) == ("b", "effect", "acme", "bad")
        assert (first.failure_class, first.tries) == ("RuntimeError", 2)
        assert second.tenant == "default"
        acme = local.engine.of("acme")
        assert [row.id for row in await acme.store.page(DeadLetter)] == ["b"]
        assert await acme.store.query("count_dead_letters") == [{"kind": "effect", "n": 1}]
        assert await dead_letters.replay(acme, [first], noting(local)) == []
        assert letters(local) == [second]
        assert local.database.table(Effect)["b"].state == "waiting"
        assert await box.run_once() == 1, "it is tried at once"
        await dead_letters.drop(local.engine, [second], noting(local)(second))
        assert list(local.database.table(Effect)) == ["b"]


def test_a_filter_names_what_there_is() -> None:
    found = Filter(kind="task", failure_class="timeout", before=5).conditions()
    assert [(cond.column, cond.value) for cond in found] == [
        ("kind", "task"),
        ("failure_class", "timeout"),
        ("died_at", 5),
    ]
    with pytest.raises(BadRequest):
        Filter(kind="nothing").conditions()
