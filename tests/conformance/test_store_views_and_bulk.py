"""What every store promises about saved views and bulk jobs."""

import pytest
from msgspec.structs import replace

from tests.conformance.rows import make
from windlass.model.bulk import BulkAct, BulkItem, BulkJob, BulkState, ItemState
from windlass.model.saved_views import SavedView
from windlass.ports.store import Cond, Store, Writes

pytestmark = pytest.mark.anyio


def view(name: str, **columns: object) -> SavedView:
    values = {"id": f"v-{name}", "owner": "u-1", "name": name, "created_at": 1, "updated_at": 1}
    return SavedView(**{**values, **columns})  # type: ignore[arg-type]


async def test_a_saved_view_is_kept_as_it_was_given_and_changed_in_place(store: Store) -> None:
    await make(store, view("a", query="status:failed", columns='["flow"]', sort="-created"))
    async with store.session() as session:
        [found] = await session.rows(SavedView, ["v-a"])
        assert (found.query, found.columns, found.shared) == ("status:failed", '["flow"]', 0)
        renamed = replace(found, name="b", shared=1)
        await session.save(Writes(changed={SavedView: {"v-a": renamed}}))
        [after] = await session.rows(SavedView, ["v-a"])
    assert (after.name, after.shared) == ("b", 1)


async def test_views_are_found_by_owner_and_page(store: Store) -> None:
    await make(store, view("a"), view("b", owner="u-2"), view("c", owner="u-2", shared=1))
    mine = await store.page(SavedView, [Cond("owner", "=", "u-1")])
    shared = await store.page(SavedView, [Cond("shared", "=", 1), Cond("owner", "!=", "u-1")])
    assert [row.name for row in mine] == ["a"]
    assert [row.name for row in shared] == ["c"]


async def test_items_of_a_job_are_counted_by_state(store: Store) -> None:
    job = BulkJob(id="j", actor="a", act=BulkAct.CANCEL, total=3, created_at=1)
    items = [BulkItem(id=f"j~{n}", job_id="j", target=f"r{n}", mark=f"m{n}") for n in range(3)]
    await make(store, job, *items)
    done = BulkItem(id="j~1", job_id="j", target="r1", mark="m1", state=ItemState.DONE)
    over = BulkJob(
        id="j",
        actor="a",
        act=BulkAct.CANCEL,
        total=3,
        created_at=1,
        state=BulkState.STOPPED,
        finished_at=9,
    )
    async with store.session() as session:
        await session.save(Writes(changed={BulkItem: {"j~1": done}, BulkJob: {"j": over}}))
        [read] = await session.rows(BulkJob, ["j"])
    assert (read.state, read.finished_at, read.act) == (BulkState.STOPPED, 9, BulkAct.CANCEL)
    waiting = [Cond("job_id", "=", "j"), Cond("state", "=", "waiting")]
    assert await store.count(BulkItem, waiting) == 2
    assert [row.id for row in await store.page(BulkItem, waiting)] == ["j~0", "j~2"]
