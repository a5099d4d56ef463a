"""A hundred flows that mean harm beside people who mean well, who hardly notice."""

import asyncio
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.hostile_flows import adversarial
from tests.integration.hostile.world import FLOWS, GOOD, TOKEN, all_of
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.anyio

SEED = 14
ADVERSARIES = 100
PEOPLE = 4
ALONE_S = 2.0
BESIDE_S = 3.0
"""For how long people go on once all the others are there."""
WITHIN = 3.0
FLOOR_S = 0.1
"""Less than this is not held against the server. Measured on two cores: alone 0.011 to 0.014 s,
beside them 0.032 to 0.044 s, 2.1 to 3.4 times; where the machine does everything else as well, both
are up to three times as long."""
TRIES = 3
"""How often it may be measured, since the machine has other things to do as well."""
ENDED = ("succeeded", "failed", "cancelled")


class Load:
    """People who start good runs, one after the other, and wait for each."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.took: list[float] = []

    async def person(self, over: asyncio.Event, until: float) -> None:
        while not over.is_set() and time.monotonic() < until:
            began = time.monotonic()
            made = await self._http.post("/api/v1/runs", json={"flow": GOOD})
            assert made.status_code == 202, made.text
            at = f"/api/v1/runs/{made.json()['id']}"
            run = (await self._http.get(at, params={"waitMs": 20_000})).json()
            assert run["state"] == "succeeded", run
            self.took.append(time.monotonic() - began)

    async def run(self, over: asyncio.Event, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(self.person(over, until) for _ in range(PEOPLE)))

    @property
    def p99(self) -> float:
        return sorted(self.took)[len(self.took) * 99 // 100]


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'windlass.db'}"
    server: servers.PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.mark.alone
async def test_a_good_load_hardly_notices_a_hundred_flows_that_mean_harm(
    db: str, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    server = ServerProcess(db, "--admin-token", TOKEN, log=log)
    with started(server):
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as http:
            body = {"definition": FLOWS[GOOD]}
            assert (await http.post(f"/api/v1/flows/{GOOD}/versions", json=body)).status_code == 201
            await Load(http).run(asyncio.Event(), 0.5)  # the first ones warm the server up
            own, beside = list[float](), list[float]()
            while len(own) < TRIES and (not own or min(beside) >= allowed(own)):
                without, with_ = await p99s(http)
                own.append(without)
                beside.append(with_)
            assert min(beside) < allowed(own), f"p99 without them: {own}, with them: {beside}"
    assert "Traceback" not in log.read_text()


def allowed(own: list[float]) -> float:
    return max(FLOOR_S, WITHIN * max(own))


async def p99s(http: httpx.AsyncClient) -> tuple[float, float]:
    """How long a good run takes without the others and beside them."""
    alone, beside, after = Load(http), Load(http), Load(http)
    await alone.run(asyncio.Event(), ALONE_S)
    over = asyncio.Event()
    loading = asyncio.ensure_future(beside.run(over))
    runs, refused = await unleashed(http)
    await asyncio.sleep(BESIDE_S)
    over.set()
    await loading
    assert len(runs) + len(refused) == ADVERSARIES
    await all_end_or_say_why(http, runs)
    await after.run(asyncio.Event(), ALONE_S)
    # The machine has other things to do as well, now more and now less.
    return max(alone.p99, after.p99), beside.p99


async def unleashed(http: httpx.AsyncClient) -> tuple[dict[str, str], list[str]]:
    """Publish and start them all; the runs by what they try, and what was refused."""
    runs: dict[str, str] = {}
    refused: list[str] = []

    async def unleash(what: str, definition: Any) -> None:
        name = what.replace(" ", "-")
        body = {"definition": definition}
        pushed = await http.post(f"/api/v1/flows/{name}/versions", json=body)
        assert pushed.status_code in (200, 201, 422), (what, pushed.text)
        made = pushed
        if pushed.status_code < 300:
            made = await http.post("/api/v1/runs", json={"flow": name})
            assert made.status_code in (202, 422), (what, made.text)
        if made.status_code == 202:
            runs[what] = made.json()["id"]
        else:
            refused.append(what)

    harm = adversarial(SEED, ADVERSARIES)
    await all_of([partial(unleash, what, definition) for what, definition in harm], at_once=2)
    return runs, refused


async def all_end_or_say_why(http: httpx.AsyncClient, runs: dict[str, str]) -> None:
    """Whatever has not ended says what it waits for, and ends when somebody cancels it."""
    open_: dict[str, Any] = {}
    for what, run_id in runs.items():
        run = (await http.get(f"/api/v1/runs/{run_id}")).json()
        if run["state"] not in ENDED:
            why = (await http.get(f"/api/v1/runs/{run_id}/why")).json()
            assert why["line"], what
            open_[what] = run_id
            await http.post(f"/api/v1/runs/{run_id}/cancel", json={})
    states: Counter[str] = Counter()
    for what, run_id in open_.items():
        answer = await http.get(f"/api/v1/runs/{run_id}", params={"waitMs": 20_000})
        assert answer.json()["state"] in ENDED, (what, answer.text)
        states[answer.json()["state"]] += 1
    assert states.keys() <= set(ENDED)
