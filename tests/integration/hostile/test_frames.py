"""Frames of both generations with anything in them, on the link of a real server."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from tests.integration.hostile.frames import (
    LATER,
    later,
    openings,
    resumptions,
    say,
    say_later,
    type_of,
)
from tests.integration.hostile.world import TOKEN, World, all_of, ended
from tests.integration.link.conftest import connected
from tests.integration.link.independent import FirstGeneration, Independent, SecondGeneration
from tests.integration.link.workflows import chain

pytestmark = pytest.mark.anyio

KINDS = (FirstGeneration, SecondGeneration)


@pytest.mark.parametrize("kind", KINDS)
async def test_first_words_with_anything_in_them_hurt_nobody(
    world: World, kind: type[Independent]
) -> None:
    worker = kind(world.url, f"evil-{kind.__name__}", [], token=TOKEN)
    with world.asked_throughout():
        await all_of([partial(say, worker, frames) for frames in openings(worker, 14, 30)])


@pytest.mark.parametrize("kind", KINDS)
async def test_sessions_taken_up_with_anything_in_the_frame_hurt_nobody(
    world: World, kind: type[Independent]
) -> None:
    worker = kind(world.url, f"evil-again-{kind.__name__}", [], token=TOKEN)
    frames = await resumptions(worker, 15, 60)
    with world.asked_throughout():
        await all_of([partial(say, worker, some) for some in frames])


@pytest.mark.parametrize("kind", KINDS)
async def test_later_words_with_anything_in_them_hurt_nobody(
    world: World, kind: type[Independent]
) -> None:
    package = f"good{kind.__name__.lower()}"
    good = kind(world.url, f"good-{kind.__name__}", [(package, "1.0.0")], token=TOKEN)
    with world.asked_throughout():
        work: list[Callable[[], Awaitable[None]]] = []
        for number, name in enumerate(LATER):
            worker = kind(world.url, f"evil-{kind.__name__}-{name}", [], token=TOKEN)
            if type_of(worker, name):
                work.append(partial(say_later, worker, later(worker, name, number, 30)))
        async with connected(good), world.client() as http:
            await all_of(work)
            body = {"workflow": chain(package, f"{package}.a", package=package), "clientId": "c"}
            made = (await http.post("/api/v1/runs", json=body)).json()
            assert await ended(http, [made["runId"]]) == ["succeeded"]
