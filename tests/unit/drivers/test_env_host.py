"""A host of environments and whoever asks it: side by side, given up, cut off."""

import asyncio

import pytest

from tests.conformance.runtimes import Connected
from windlass.drivers.env.exchange import ASKED_MAX, Asked, decode, encode
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.noop import NoopBackend
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.drivers.env.remote import RemoteBackend, RemoteImages
from windlass.ports.env import OnLog, PlaceError, PlaceSpec, RuntimeAway

pytestmark = pytest.mark.anyio


class Images:
    async def capabilities(self) -> dict[str, object]:
        return {"dockerfile_build": True, "reason": ""}

    async def pull(self, ref: str) -> str:
        raise PlaceError(f"{ref}: connection refused")

    async def build(self, dockerfile: str, tag: str, on_log: OnLog) -> str:
        for line in dockerfile.splitlines():
            await on_log(line)
        return f"sha256:{tag}"


async def test_a_slow_question_holds_up_no_other() -> None:
    connected, places = Connected(), PretendedPlaces()
    env = RemoteBackend(connected.connect(EnvHost({"noop": NoopBackend(places)})), "noop")
    slow = PlaceSpec(name="slow", config={"delays": {"allocate": 60}})
    waiting = asyncio.create_task(env.allocate(slow))
    await asyncio.sleep(0)
    async with asyncio.timeout(1):
        await env.allocate(PlaceSpec(name="quick", config={}))
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await connected.end()


async def test_what_nobody_waits_for_is_given_up_on_the_host() -> None:
    connected, places = Connected(), PretendedPlaces()
    env = RemoteBackend(connected.connect(EnvHost({"noop": NoopBackend(places)})), "noop")
    await env.allocate(PlaceSpec(name="a", config={}))
    for give_up in ("cancel", "cut"):
        running = asyncio.create_task(env.execute("a", 1, ["sleep", "60"]))
        await runs_there(places, True)
        if give_up == "cancel":
            running.cancel()
        else:
            connected.pipes[0].cut()
        with pytest.raises((asyncio.CancelledError, RuntimeAway)):
            await running
        await runs_there(places, False)
    with pytest.raises(RuntimeAway, match="not connected"):
        await env.inspect("a")
    await connected.end()


async def runs_there(places: PretendedPlaces, wanted: bool) -> None:
    for _ in range(100):
        if bool(places.running.get("a")) is wanted:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"a command {'never ran' if wanted else 'ran on'}")


async def test_more_than_may_be_asked_waits_for_its_turn() -> None:
    connected, backend = Connected(), NoopBackend()
    env = RemoteBackend(connected.connect(EnvHost({"noop": backend})), "noop")
    await env.allocate(PlaceSpec(name="a", config={}))
    commands = (env.execute("a", 1, ["sleep", "0.01"]) for _ in range(ASKED_MAX * 3))
    done = await asyncio.gather(*commands)
    assert [each.code for each in done] == [0] * (ASKED_MAX * 3)
    await connected.end()


async def test_a_host_that_comes_again_takes_the_place_of_its_old_channel() -> None:
    connected, places = Connected(), PretendedPlaces()
    host = EnvHost({"noop": NoopBackend(places)})
    remote = connected.connect(host)
    env = RemoteBackend(remote, "noop")
    await env.allocate(PlaceSpec(name="a", config={}))
    running = asyncio.create_task(env.execute("a", 1, ["sleep", "60"]))
    await runs_there(places, True)
    connected.connect(host, remote)
    with pytest.raises(RuntimeAway):
        await running
    assert await env.inspect("a") == "running"
    connected.pipes[0].cut()
    await asyncio.sleep(0)
    assert remote.connected
    assert await env.inspect("a") == "running"
    await connected.end()


async def test_images_are_built_with_their_logs_and_errors_keep_their_words() -> None:
    connected = Connected()
    images = RemoteImages(connected.connect(EnvHost({}, Images())))
    lines: list[str] = []

    async def log(line: str) -> None:
        lines.append(line)

    assert await images.build("FROM x\nRUN y", "tag", log) == "sha256:tag"
    assert lines == ["FROM x", "RUN y"]
    with pytest.raises(PlaceError, match="x: connection refused"):
        await images.pull("x")
    assert (await images.capabilities())["dockerfile_build"] is True
    await connected.end()
    assert (await images.capabilities())["dockerfile_build"] is False


async def test_what_a_host_does_not_have_is_refused() -> None:
    connected = Connected()
    remote = connected.connect(EnvHost({"noop": NoopBackend()}))
    with pytest.raises(PlaceError, match='no environments of kind "browser"'):
        await RemoteBackend(remote, "browser").list()
    with pytest.raises(PlaceError, match="nothing that a host"):
        await remote.ask(str, "noop", "__init__")
    with pytest.raises(RuntimeAway, match="TypeError"):
        await remote.ask(str, "noop", "inspect", wrong=1)
    assert await RemoteBackend(remote, "noop").list() == []
    await connected.end()


def test_messages_survive_the_way() -> None:
    asked = Asked(1, "noop", "write", {"data": bytes(range(256))})
    assert decode(encode(asked)) == asked
