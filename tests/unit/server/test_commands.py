"""Commands to workers whose line is dead, or who are elsewhere by now: none is lost."""

from collections.abc import AsyncGenerator

import pytest

from tests.unit.server.link_bench import Bench, link_bench, link_of, registration
from windlass.engine.attempts import Attempts
from windlass.engine.loops.outbox import NotHere
from windlass.protocol.workers_api import CommandBody
from windlass.server.commands import CommandNews, Commands, Order
from windlass.server.link import session as link_session
from windlass.server.link.plane import LinkPlane

pytestmark = pytest.mark.anyio

ORDERS = [
    CommandBody(type="pkg.install", name="kit", version="1", url="http://127.0.0.1/kit"),
    CommandBody(type="pkg.uninstall", name="kit", version="1"),
    Order(type="rebind", runs=("r1", "r2")),
]


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with link_bench() as made:
        yield made


@pytest.mark.parametrize("body", ORDERS, ids=lambda body: body.type)
async def test_a_command_nobody_acknowledges_waits_for_whoever_has_the_worker(
    bench: Bench, body: CommandBody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_session, "_ARRIVES_S", 0.01)
    session = await bench.session()
    session.link.features |= {"rebind"}
    commands = Commands(bench.engine, bench.plane)
    with pytest.raises(NotHere):
        await commands.carry_out(commands.order("c", "w", body))


async def test_a_command_is_left_to_the_server_its_worker_went_to(bench: Bench) -> None:
    here = await bench.session()
    elsewhere = LinkPlane(bench.engine, Attempts(bench.engine))
    there = await elsewhere.begin(link_of(), registration())
    there.wake = lambda: None
    here_commands, there_commands = (
        Commands(bench.engine, plane) for plane in (bench.plane, elsewhere)
    )
    drain = here_commands.order("c", "w", CommandBody(type="drain"))
    with pytest.raises(NotHere):
        await here_commands.carry_out(drain)
    assert not here.connected
    done: list[CommandNews] = []
    there_commands.listeners.append(done.append)
    await there_commands.carry_out(drain)
    assert bench.row().state == "draining"
    assert [news.error for news in done] == [""]
    assert await here_commands.check(bench.engine, "w") == "w"
