"""Further in: what was let in is also run, and whoever really has the work spoils its result."""

import json
import random
from functools import partial
from typing import Any

import httpx
import pytest

from tests.hostile_values import UNREADABLE, VALUES, definitions
from tests.integration.hostile.test_entrances import no_run_is_stuck
from tests.integration.hostile.world import TOKEN, World, all_of, ended
from tests.integration.link.conftest import connected
from tests.integration.link.independent import Independent, SecondGeneration
from tests.integration.link.workflows import chain
from tests.packages import archive

pytestmark = pytest.mark.anyio

SEED = 15
PLACE = "@here@"
Json = dict[str, Any]


async def test_odd_definitions_that_are_accepted_run_or_say_why_not(world: World) -> None:
    async def begin(http: httpx.AsyncClient, number: int, what: str, flow: Json) -> None:
        name = f"odd-{number}"
        pushed = await http.post(f"/api/v1/flows/{name}/versions", json={"definition": flow})
        world.note(f"definition {what}", pushed.status_code, pushed.text)
        if pushed.status_code != 201:
            return
        accepted.append(what)
        made = await http.post("/api/v1/runs", json={"flow": name, "params": {"text": "x"}})
        world.note(f"start of {what}", made.status_code, made.text)

    accepted: list[str] = []
    async with world.client() as http:
        with world.asked_throughout():
            odd = enumerate(definitions(SEED, 100))
            await all_of([partial(begin, http, number, *what) for number, what in odd])
        assert len(accepted) > 20, "most are refused, but not all"
        await no_run_is_stuck(http)


class Spoiler(SecondGeneration):
    """Takes real work, and says of it what it is told to."""

    def __init__(self, world: World, name: str, spoilt: list[tuple[str, bytes]]) -> None:
        super().__init__(world.url, name, [(name, "1.0.0")], token=TOKEN)
        self.spoilt = spoilt
        self.raws: dict[str, bytes] = {}
        """What stands in each task's result, once it is written."""

    async def work(self, dispatch: Json) -> Json:
        payload = await super().work(dispatch)
        field, raw = self.spoilt.pop() if self.spoilt else ("result", b"{}")
        self.raws[payload["task_id"]] = raw
        return {**payload, field: PLACE}

    async def send(self, frame: Json) -> None:
        text = json.dumps(frame)
        if f'"{PLACE}"' in text:
            raw = self.raws[frame["payload"]["task_id"]]
            data = text.encode().replace(f'"{PLACE}"'.encode(), raw)
            await self.socket.send(data)
        else:
            await Independent.send(self, frame)


FIELDS = ("result", "status", "metadata", "artifacts", "error", "duration_ms")


def is_json(raw: bytes) -> bool:
    """Whether a frame with it is still a frame; the link of a worker that sends none is closed."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return len(raw) < 500_000


async def test_spoilt_results_of_real_dispatches_end_their_runs(world: World) -> None:
    draw = random.Random(SEED)
    values = [raw for _, raw in sorted(VALUES.items()) if is_json(raw)]
    draw.shuffle(values)
    spoilt = [(FIELDS[at % len(FIELDS)], raw) for at, raw in enumerate(values[:30])]
    # What nobody could read later stands where it would be kept as it is.
    spoilt += [("result", raw) for raw in UNREADABLE.values() if is_json(raw)]
    runs: list[str] = []
    worker = Spoiler(world, "spoiler", list(spoilt))
    async with world.client() as http, connected(worker):
        with world.asked_throughout():
            for number in range(len(spoilt)):
                body = {
                    "workflow": chain(f"spoilt-{number}", "spoiler.a", package="spoiler"),
                    "clientId": "c",
                }
                made = await http.post("/api/v1/runs", json=body)
                assert made.status_code == 202, made.text
                runs.append(made.json()["runId"])
            states = await ended(http, runs)
        assert "failed" in states


async def test_spoilt_archives_are_refused(world: World) -> None:
    good = archive(name="spoilt-archive")
    draw = random.Random(SEED)

    async def upload(http: httpx.AsyncClient, what: str, data: bytes) -> None:
        files = {"file": ("a.cwx", data, "application/zip")}
        answer = await http.post("/api/v1/published-packages", files=files)
        world.note(f"archive {what}", answer.status_code, answer.text)

    def flipped() -> bytes:
        data = bytearray(good)
        for _ in range(draw.randrange(1, 6)):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        return bytes(data)

    shots = [("nothing", b""), ("junk", b"\0" * 5_000), ("end alone", good[-22:])]
    shots += [(f"cut at {at}", good[:at]) for at in range(10, len(good), len(good) // 12)]
    shots += [(f"bits {number}", flipped()) for number in range(60)]
    shots += [("twice", good + good), ("behind junk", b"junk" * 200 + good)]
    for name, raw in VALUES.items():
        odd = good.replace(b"manifest.json", b"manifest.jsom", 1)
        shots.append((f"manifest {name}", odd + raw))
    async with world.client() as http:
        with world.asked_throughout():
            await all_of([partial(upload, http, what, data) for what, data in shots])
