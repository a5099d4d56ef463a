"""Lists of what is large show what it is, and one of it shows all."""

from typing import Any

from click.testing import CliRunner

from tests.integration.conftest import TOKEN, Served
from windlass.cli.main import cli
from windlass.client import Client

BYTES = 1_000_000
GATE = {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}
SMALL = 50_000


def flow(**more: object) -> dict[str, object]:
    return {"start": "a", "nodes": {"a": GATE}, "edges": [], **more}


def plan(served: Served, **body: object) -> str:
    tasks = [{"alias": "a", "goal": "one", "worker_profile": "nobody"}]
    body = {"dialect": "plan", "plan": {"tasks": tasks}, **body}
    answer = served.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def listed(served: Served, q: str) -> list[dict[str, Any]]:
    answer = served.http.get("/api/v1/runs", params={"q": q})
    assert len(answer.content) < SMALL
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_a_list_of_runs_has_no_parameters_and_one_run_has_them(served: Served) -> None:
    served.push("loaded", flow())
    ids = [served.start("loaded", {"text": "x" * BYTES, "n": n}) for n in range(5)]
    items = listed(served, "flow:loaded")
    assert [item["id"] for item in items] == ids[::-1]
    assert {item["params"] for item in items} == {None}
    one = served.http.get(f"/api/v1/runs/{ids[3]}").json()
    assert (len(one["params"]["text"]), one["params"]["n"], one["goal"]) == (BYTES, 3, "")
    with Client(served.server.url, token=TOKEN) as client:
        page = client.runs("flow:loaded")
        assert [(run.id, run.params) for run in page.items] == [(id_, None) for id_ in ids[::-1]]
        shown = client.run(ids[0]).refresh().params
        assert shown is not None
        assert shown["n"] == 0
    env = {"WINDLASS_URL": served.server.url, "WINDLASS_TOKEN": TOKEN}
    said = CliRunner().invoke(cli, ["run", "ls", "-q", "flow:loaded", "--json"], env=env)
    assert said.exit_code == 0, said.output
    assert len(said.output) < SMALL
    assert ids[0] in said.output


def test_a_list_shows_what_plans_are_for(served: Served) -> None:
    large = {"text": "x" * BYTES}
    first = plan(served, goal='say "hi" \n 取', input=large, tags={"of": "goals"})
    long = plan(served, goal="l" * 3_000, input=large, tags={"of": "goals"})
    params: dict[str, object] = {"input": large, "goal": "by name", "worker_profile": "nobody"}
    named = served.start("plan", params, tags={"of": "goals"})
    goals = {item["id"]: item["goal"] for item in listed(served, "tag:of=goals")}
    assert goals == {first: 'say "hi" \n 取', long: "l" * 500, named: "by name"}
    for run_id, goal in ((first, goals[first]), (long, "l" * 3_000), (named, "by name")):
        one = served.http.get(f"/api/v1/runs/{run_id}").json()
        assert (one["goal"], one["params"]["goal"]) == (goal, goal)
        assert one["params"]["input"] == large


def test_a_list_of_versions_has_no_definitions_and_one_version_has_it(served: Served) -> None:
    declared = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for number in range(3):
        served.push("long", flow(params=declared, description=str(number) + "x" * BYTES))
    answer = served.http.get("/api/v1/flows/long/versions")
    assert len(answer.content) < SMALL
    items = answer.json()["items"]
    assert [item["version"] for item in items] == [3, 2, 1]
    assert {(item["definition"], item["paramsSchema"]) for item in items} == {(None, None)}
    one = served.http.get("/api/v1/flows/long/versions/2").json()
    assert one["definition"]["description"][:2] == "1x"
    assert one["paramsSchema"] == declared
    with Client(served.server.url, token=TOKEN) as client:
        assert [found.version for found in client.versions("long").items] == [3, 2, 1]
        assert client.version("long", 1).definition["description"][:2] == "0x"
