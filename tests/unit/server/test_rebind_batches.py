"""All runs of a worker are moved, batch after batch, and the command is done after the last."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from windlass.engine import rebind
from windlass.model.errors import Conflict
from windlass.server.api.commands import give_up_rest

pytestmark = pytest.mark.anyio

IDS = [f"r{n:04}" for n in range(2 * rebind.BATCH + 5)]


class Store:
    """Runs that stay bound, as those do that cannot be moved."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def query(self, name: str, **given: Any) -> list[dict[str, str]]:
        assert name == "bound_runs"
        self.asked.append(given["after"])
        left = [id_ for id_ in IDS if id_ > given["after"]]
        return [{"run_id": id_} for id_ in left[: given["count_max"]]]

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Any]:
        async def rows(_: Any, ids: list[str]) -> list[Any]:
            return [SimpleNamespace(id=id_) for id_ in ids]

        yield SimpleNamespace(rows=rows)


@pytest.mark.parametrize("stuck", ["", IDS[-1]])
async def test_every_run_is_moved_once_before_the_command_is_done(
    monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    async def move(_: Any, run: Any, target: str | None) -> rebind.Rebound:
        if run.id == stuck:
            raise Conflict("it has ended")
        return rebind.Rebound(run.id, {}, target)

    monkeypatch.setattr(rebind, "rebind", move)
    store, sent, done = Store(), list[str](), list[tuple[str, str]]()
    engine = cast(Any, SimpleNamespace(store=store))
    session = cast(
        Any, SimpleNamespace(worker_id="old", send=lambda message: sent.append(message.run_id))
    )
    commands = cast(
        Any, SimpleNamespace(done=lambda id_, _, error, code: done.append((error, code)))
    )
    first = await rebind.rebind_some(engine, "old", "new")
    assert len(first.done) == rebind.BATCH
    await give_up_rest(commands, engine, session, "c", first, "new", "why")
    assert store.asked == ["", IDS[rebind.BATCH - 1], IDS[2 * rebind.BATCH - 1]]
    assert [one.run_id for one in first.done] + sent == [id_ for id_ in IDS if id_ != stuck]
    [(error, code)] = done
    assert (bool(error), code) == ((True, "E.REBIND") if stuck else (False, ""))
