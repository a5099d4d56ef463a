"""All runs of a worker are moved, batch after batch, and the command is done after the last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from windlass.engine import rebind
from windlass.model.effects import Effect
from windlass.model.errors import Conflict
from windlass.protocol.workers_api import CommandBody
from windlass.server.commands import Commands

pytestmark = pytest.mark.anyio

IDS = [f"r{n:04}" for n in range(2 * rebind.BATCH + 5)]


class Store:
    """Runs that stay bound, as those do that cannot be moved."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def now(self) -> int:
        return 1

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

    async def write(effect: Effect) -> None:
        sent.extend(msgspec.json.decode(effect.body)["runs"])

    engine = cast(Any, SimpleNamespace(store=store, write=write, new_id=lambda: "e"))
    commands = Commands(engine, cast(Any, SimpleNamespace(on_package=[])))
    ended = asyncio.Event()
    commands.listeners += [
        lambda news: done.append((news.error, news.code)),
        lambda _: ended.set(),
    ]
    await commands.give_up("c", "old", CommandBody(type="rebind", worker_id="new"))
    assert len(sent) == rebind.BATCH, "what a request would take too long for comes after it"
    await asyncio.wait_for(ended.wait(), 5)
    assert store.asked == ["", IDS[rebind.BATCH - 1], IDS[2 * rebind.BATCH - 1]]
    assert sent == [id_ for id_ in IDS if id_ != stuck]
    [(error, code)] = done
    assert (bool(error), code) == ((True, "E.REBIND") if stuck else (False, ""))
