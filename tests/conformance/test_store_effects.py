"""What every store promises about effects: claimed by one at a time, none lost, none starved."""

import asyncio

import pytest

from tests.conformance.conftest import Open
from tests.conformance.rows import make
from windlass.model.effects import Effect, worker_address
from windlass.ports.store import EffectClaim, Store

pytestmark = pytest.mark.anyio


def effect(name: str, **columns: object) -> Effect:
    values: dict[str, object] = {"id": name, "kind": "k", "due_at": 10, "created_at": 1}
    return Effect(**{**values, **columns})  # type: ignore[arg-type]


async def claim(store: Store, holder: str = "a", now: int = 100, **more: object) -> list[str]:
    asked: dict[str, object] = {"addresses": [""], "lease_until": now + 50}
    found = await store.claim_effects(
        EffectClaim(**{**asked, **more}, holder=holder, now=now)  # type: ignore[arg-type]
    )
    return sorted(row.id for row in found)


async def test_what_is_due_is_claimed_until_its_lease_runs_out(store: Store) -> None:
    await make(store, effect("x"), effect("later", due_at=120), effect("dead", state="dead"))
    assert await claim(store) == ["x"]
    assert await claim(store, "b", now=149) == ["later"]
    assert await claim(store, "b", now=150) == ["x"], "its holder is gone"
    [row] = [row for row in await store.page(Effect) if row.id == "x"]
    assert (row.holder, row.tries, row.lease_until) == ("b", 2, 200)


async def test_an_effect_is_ended_only_by_whoever_has_it(store: Store) -> None:
    await make(store, effect("x"), effect("y"))
    await claim(store)
    await store.end_effects(["x"], "b")
    await store.end_effects(["y", "absent"], "a")
    await store.end_effects([], "a")
    assert [row.id for row in await store.page(Effect)] == ["x"]


async def test_effects_for_an_address_are_left_to_it(store: Store) -> None:
    await make(store, effect("any"), effect("w", address=worker_address("w1")))
    assert await claim(store) == ["any"]
    assert await claim(store, "b", addresses=["", worker_address("w2")]) == []
    assert await store.query("next_effect", addresses=[worker_address("w1")]) == [{"due_at": 10}]
    assert await claim(store, "b", addresses=[worker_address("w1")]) == ["w"]
    assert await store.query("next_effect", addresses=["", "none"]) == [{"due_at": 150}]
    assert await store.query("count_effects") == [{"state": "waiting", "n": 2}]


async def test_a_run_with_many_effects_does_not_keep_others_waiting(store: Store) -> None:
    busy = [effect(f"busy{n:03}", run_id="r1", due_at=n) for n in range(60)]
    await make(store, *busy, effect("other", run_id="r2", due_at=90))
    first = await claim(store, count_max=30, each_max=20)
    assert len(first) == 21
    assert "other" in first


async def test_two_processes_never_claim_one_effect(open_store: Open) -> None:
    one, two = await open_store(), await open_store()
    await make(one, *(effect(f"e{n:02}", run_id=f"r{n}") for n in range(40)))
    taken = await asyncio.gather(
        *(claim(store, name, count_max=3) for name, store in [("a", one), ("b", two)] * 10)
    )
    ids = [id_ for some in taken for id_ in some]
    assert len(ids) == len(set(ids))
