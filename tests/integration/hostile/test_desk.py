"""What an attempt says beside its result, with its own token: actions, the blackboard, its place.

Without that token none of it gets further than the door; workers on the link have it with their
dispatch frames (`desk`), pull workers with their attempts, programs in pods with their secret.
"""

from functools import partial
from typing import Any

import httpx
import pytest

from tests.hostile_values import spoilt
from tests.hostile_work import WORK
from tests.integration.hostile.world import TOKEN, World, all_of, ended, start
from tests.integration.link.conftest import connected
from tests.integration.link.independent import Independent, SecondGeneration
from tests.integration.link.workflows import chain

pytestmark = pytest.mark.anyio

SEED = 17
EACH = 40
Json = dict[str, Any]
SAID = sorted(
    path.removeprefix("POST /api/v1/workers/{id}/")
    for path in WORK
    if path.startswith("POST /api/v1/workers/{id}/") and not path.endswith("/exchange")
)


async def spoil(
    world: World, http: httpx.AsyncClient, at: str, attempt: Json, seed: int = SEED
) -> None:
    """Say everything there is to say of an attempt, spoilt."""

    async def send(path: str, what: str, raw: bytes) -> None:
        answer = await http.post(path, content=raw)
        if "/env/" not in path or answer.status_code != 503:  # nothing can make places here
            world.note(f"{path}: {what}", answer.status_code, answer.text)

    who = {"attemptId": attempt["attemptId"], "token": attempt["token"]}
    task = attempt["attemptId"].partition("@")[0]
    for number, said in enumerate(SAID):
        good = {**WORK[f"POST /api/v1/workers/{{id}}/{said}"], **who}
        if "key" in good:
            good["key"] = f"bb.task.{task}.progress.a"
        shots = spoilt(good, seed + number, EACH)
        await all_of([partial(send, f"{at}/{said}", what, raw) for what, raw in shots])


async def test_what_an_attempt_says_with_its_own_token_hurts_nobody(world: World) -> None:
    async with world.client() as http:
        [run_id] = await start(http, "evil-pull", 1)
        at = "/api/v1/workers/hostile-desk"
        ask = {"services": ["evil"], "slots": 1, "waitMs": 5_000}
        [attempt] = (await http.post(f"{at}/exchange", json=ask)).json()["attempts"]
        assert attempt["runId"] == run_id
        with world.asked_throughout():
            await spoil(world, http, at, attempt)
        result = {"attemptId": attempt["attemptId"], "token": attempt["token"], "output": 1}
        body = {"services": ["evil"], "results": [result]}
        await http.post(f"{at}/exchange", json=body)
        [state] = await ended(http, [run_id])
        assert state in ("succeeded", "failed")


async def test_what_a_handler_on_the_link_says_with_its_token_hurts_nobody(world: World) -> None:
    async with world.client() as http:

        async def handler(dispatch: Json) -> Json:
            attempt = {"attemptId": dispatch["task_id"], "token": dispatch["token"]}
            await spoil(world, http, "/api/v1/workers/hostile-link-desk", attempt, SEED + 50)
            return {"echo": 1}

        worker = desk(world, handler)
        async with connected(worker):
            with world.asked_throughout():
                body = {
                    "workflow": chain("desk", "desk.a", package="desk"),
                    "clientId": "c",
                }
                made = await http.post("/api/v1/runs", json=body)
                assert made.status_code == 202, made.text
                [state] = await ended(http, [made.json()["runId"]])
                assert state in ("succeeded", "failed")


def desk(world: World, handler: Any) -> Independent:
    """A worker that says it has a desk for its handlers."""

    class Desk(SecondGeneration):
        def capabilities(self) -> Json:
            return {**super().capabilities(), "features": ["desk"]}

    packages = [("desk", "1.0.0")]
    return Desk(world.url, "hostile-link-desk", packages, token=TOKEN, handler=handler)
