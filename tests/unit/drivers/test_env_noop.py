"""Pretended places: delayed, refused and lost answers, as tests and the simulator want them."""

import asyncio

import pytest

from windlass.drivers.env.noop import NoopBackend
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.ports.env import PlaceError, PlaceSpec, RuntimeAway

pytestmark = pytest.mark.anyio


async def test_a_resource_may_ask_for_delays_and_refusals() -> None:
    env = NoopBackend()
    slow = asyncio.create_task(
        env.allocate(PlaceSpec(name="slow", config={"delays": {"allocate": 30}}))
    )
    await env.allocate(PlaceSpec(name="quick", config={"failures": {"snapshot": "no room"}}))
    assert not slow.done()
    with pytest.raises(PlaceError, match="no room"):
        await env.snapshot("quick", "x")
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert [place.name for place in await env.list()] == ["quick"]


async def test_an_answer_may_be_lost_after_the_step_was_done() -> None:
    async def lose(when: str, method: str, name: str) -> None:
        if (when, method) == ("after", "allocate"):
            raise RuntimeAway("cut off")

    places = PretendedPlaces()
    with pytest.raises(RuntimeAway):
        await NoopBackend(places, interfere=lose).allocate(PlaceSpec(name="a", config={}))
    assert await NoopBackend(places).inspect("a") == "running"


async def test_a_step_may_be_refused_before_anything_is_done() -> None:
    async def refuse(when: str, method: str, name: str) -> None:
        if (when, method, name) == ("before", "release", "a"):
            raise RuntimeAway("not there")

    places = PretendedPlaces()
    env = NoopBackend(places, interfere=refuse)
    await env.allocate(PlaceSpec(name="a", config={"files": {"x": "given"}}))
    with pytest.raises(RuntimeAway):
        await env.release("a")
    assert await env.read("a", 1, "x") == b"given"


async def test_a_holder_who_lost_the_place_meanwhile_changes_nothing() -> None:
    async def overtake(when: str, method: str, name: str) -> None:
        if (when, method) == ("before", "write"):
            await NoopBackend(places).still(name, 2)

    places = PretendedPlaces()
    await NoopBackend(places).allocate(PlaceSpec(name="a", config={"files": {"x": "before"}}))
    with pytest.raises(Exception, match="another holder"):
        await NoopBackend(places, interfere=overtake).write("a", 1, "x", b"stale")
    assert await NoopBackend(places).read("a", 2, "x") == b"before"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo 'a b' c", b"a b c\n"),
        ("echo a && echo b", b""),
        ("echo 'unfinished", b""),
        ("sh -c 'echo a'", b""),
    ],
)
async def test_a_shell_knows_plain_commands(line: str, said: bytes) -> None:
    backend = NoopBackend(PretendedPlaces())
    await backend.allocate(PlaceSpec(name="a", config={}))
    done = await backend.execute("a", 1, ["sh", "-c", line])
    assert (done.code, done.out) == (0 if said else 127, said)
