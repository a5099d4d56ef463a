"""Values that reach a flow by reference: run parameters it names, answers it reads, and parameters
that are kept for a worker because no frame holds them."""

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.hostile_values import NAMES, ODD, UNREADABLE
from tests.integration.hostile.world import TOKEN, World, all_of, ended, one_call, start
from tests.integration.link.conftest import connected
from tests.integration.link.independent import FirstGeneration, Independent, SecondGeneration
from tests.integration.link.workflows import node, workflow

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
LOCAL: Json = {"exec_type": "local_func", "func": "log_result"}
GIVEN = "$params.v"
LARGE = "x" * 1_100_000
"""More than a frame holds."""
_BEYOND = ("digits", "beyond 64 bits", "nul", "nul key")
"""What a workflow may not hold."""


def one(**node_: Any) -> Json:
    return {"start": "a", "nodes": {"a": node_}, "edges": []}


def choice(operator: str, *operands: object) -> Json:
    cases = [{"action": "on", "expr": {operator: list(operands)}}]
    return one(kind="choice", choice_cases=cases)


PLACES: dict[str, Json] = {
    "input": one_call(**LOCAL, prep={"input_key": GIVEN}),
    "below": one_call(**LOCAL, prep={"input_key": f"{GIVEN}.a"}),
    "map": one_call(**LOCAL, prep={"input_map": {"a": GIVEN, "b": f"{GIVEN}.0", "c": GIVEN}}),
    "delay": one(kind="timer", params={"delay_ms": GIVEN}),
    "wait": one(kind="wait_event", params={"signal_key": GIVEN, "timeout_ms": 50}),
    "time-out": one(kind="wait_event", params={"signal_key": "$shared.x", "timeout_ms": GIVEN}),
    "items": one(kind="foreach", **LOCAL, prep={"input_key": GIVEN}),
    "approval": one(kind="approval", params={"approval_key": GIVEN, "prompt": GIVEN}),
    "equal": choice("eq", GIVEN, f"{GIVEN}.a"),
    "less": choice("lt", GIVEN, 5),
    "in": choice("in", 5, GIVEN),
    "contains": choice("contains", GIVEN, GIVEN),
}
"""Flows that read one run parameter, each at another place."""


async def test_parameters_named_by_reference_end_their_runs_whatever_they_are(
    world: World,
) -> None:
    async with world.client() as http:
        names: list[str] = []
        for place, flow in PLACES.items():
            name = f"by-reference-{place}"
            body = {"definition": flow}
            answer = await http.post(f"/api/v1/flows/{name}/versions", json=body)
            if answer.status_code == 422:
                continue  # this place takes no reference
            assert answer.status_code in (200, 201), answer.text
            names.append(name)
        assert len(names) > 9
        runs: list[str] = []

        async def begin(flow: str, what: str, raw: bytes) -> None:
            body = b'{"flow":"%s","params":{"v":%s}}' % (flow.encode(), raw)
            answer = await http.post("/api/v1/runs", content=body)
            world.note(f"{flow} with {what}", answer.status_code, answer.text)
            if what in UNREADABLE:
                assert answer.status_code == 400, (flow, what)
            elif answer.status_code == 202:
                runs.append(answer.json()["id"])

        with world.asked_throughout():
            values = [*ODD.items(), *UNREADABLE.items()]
            await all_of([partial(begin, flow, *value) for flow in names for value in values])
            await all_end(http, runs)


async def all_end(http: httpx.AsyncClient, runs: list[str]) -> None:
    """Whatever waits for something says so, and ends when it is asked to."""
    for run in runs:
        found = (await http.get(f"/api/v1/runs/{run}")).json()
        if found["state"] in ("queued", "running", "waiting"):
            assert (await http.get(f"/api/v1/runs/{run}/why")).json()["line"]
            await http.post(f"/api/v1/runs/{run}/cancel", json={})
    await ended(http, runs)


def answers() -> Iterator[tuple[str, bytes]]:
    """Answers with something at every depth."""
    for what, raw in [*UNREADABLE.items(), *ODD.items()]:
        yield what, raw
        yield f"{what} in a list", b"[[1," + raw + b"]]"
        yield f"{what} below", b'{"a":{"b":[{"c":' + raw + b"}]}}"


async def test_answers_with_anything_deep_inside_leave_their_runs_able_to_end(
    world: World,
) -> None:
    async with world.client() as http:
        runs = await start(http, "evil-answer", len(list(answers())))
        with world.asked_throughout():

            async def reply(run: str, what: str, raw: bytes) -> None:
                path = f"/api/v1/checkpoints/{run}/resolve"
                body = b'{"answer":' + raw + b',"note":"n"}'
                answer = await http.post(path, content=body)
                world.note(f"answer, {what}", answer.status_code, answer.text)
                if what.split(" in a list")[0].split(" below")[0] in UNREADABLE:
                    assert answer.status_code == 400, what
                if answer.status_code != 200:
                    assert answer.status_code in (400, 413, 422), (what, answer.text)
                    again = await http.post(path, json={"answer": "approved"})
                    assert again.status_code == 200, (what, again.text)

            each = zip(runs, answers(), strict=True)
            await all_of([partial(reply, run, *answer) for run, answer in each])
            await ended(http, runs)


@pytest.mark.parametrize("kind", [FirstGeneration, SecondGeneration])
async def test_parameters_kept_for_a_worker_are_as_they_were_whatever_is_in_them(
    world: World, kind: type[Independent]
) -> None:
    package = f"large{kind.__name__.lower()}"
    odd = {what: json.loads(raw) for what, raw in ODD.items() if what not in _BEYOND}
    given: list[Json] = []

    async def note(dispatch: Json) -> Json:
        given.append(dispatch["parameters"])
        return {"echo": 1}

    async with connected(fetching(kind, world, package, note)), world.client() as http:
        with world.asked_throughout():
            large = {"large": LARGE, "odd": odd}
            assert await ended(http, [await begun(http, package, large)]) == ["succeeded"]
            reference = given.pop()["$ref"]
            kept = await http.get(f"{reference['path']}?{reference['query']}")
            assert hashlib.sha256(kept.content).hexdigest() == reference["sha256"]
            assert kept.json()["odd"] == odd
            for what, word in NAMES.items():
                for path in (f"{quote(word, safe='')}", f"{quote(word, safe='')}?{word[:50]!a}"):
                    answer = await http.get(f"/api/v1/attempt-parameters/{path}")
                    world.note(f"parameters of {what}", answer.status_code, answer.text)
            # What an author writes is no reference, whatever it looks like.
            looks = [await begun(http, package, {"$ref": value}) for value in odd.values()]
            assert set(await ended(http, looks)) == {"succeeded"}
            assert all("$ref" in parameters for parameters in given)


def fetching(kind: type[Independent], world: World, package: str, handler: Any) -> Any:
    """A worker that says it fetches what does not fit into a frame."""

    class Fetching(kind):  # type: ignore[valid-type, misc]
        def capabilities(self) -> Json:
            return {**super().capabilities(), "features": ["parameters.ref"]}

    return Fetching(world.url, package, [(package, "1.0.0")], token=TOKEN, handler=handler)


async def begun(http: httpx.AsyncClient, package: str, parameters: Json) -> str:
    step = node(package, f"{package}.a", package)
    step["parameters"] = parameters
    body = {"workflow": workflow(package, [step], []), "clientId": "c"}
    made = await http.post("/api/v1/runs", json=body)
    assert made.status_code == 202, made.text
    return str(made.json()["runId"])
