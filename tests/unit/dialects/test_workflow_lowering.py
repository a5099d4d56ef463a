"""A workflow becomes a graph whose nodes wait for all their edges and are filled by them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows import edge, node, port, uid, workflow
from windlass.dialects.workflow import compile_workflow, definition_hash, outline
from windlass.model.graph import Fill, Kind, Ref, Root, Transport
from windlass.model.states import RunState
from windlass.testing.played import Played

SEED = Path(__file__).parent / "workflows" / "playwright.json"
OPEN, CLICK = "2b2c3fcb-9c18-4ca2-9b5a-8ad4deb1f164", "8f5dea1f-6a13-4e43-843f-5361c40f8f5a"


def seed() -> dict[str, Any]:
    definition: dict[str, Any] = json.loads(SEED.read_text())
    return definition


def test_the_example_of_the_design_is_taken_as_it_is_written() -> None:
    graph = compile_workflow(seed())
    assert graph.starts == {"": (OPEN,)}
    assert graph.joins == {OPEN: 1, CLICK: 2}
    assert graph.fails_run
    click = graph.nodes[CLICK]
    assert click.kind is Kind.CALL
    assert click.fires_all
    assert click.fills == (
        Fill(("trigger",), Ref(Root.RESULTS, (OPEN, "done"))),
        Fill(("page",), Ref(Root.RESULTS, (OPEN, "page"))),
    )
    assert click.target is not None
    assert click.target.transport is Transport.LINK
    assert click.target.service == "crawlerx_playwright@2025.10.0:playwright.click"
    assert (click.target.package, click.target.version) == ("crawlerx_playwright", "2025.10.0")
    assert click.target.handler == "playwright.click"
    assert click.params == seed()["nodes"][1]["parameters"]


def test_the_example_runs_and_its_page_reaches_the_click() -> None:
    run = Played(compile_workflow(seed()))
    [opened] = run.queued()
    assert json.loads(opened.input or "") == seed()["nodes"][0]["parameters"]
    run.succeed(opened.id, {"page": {"handle": 7}, "done": True})
    [click] = run.queued()
    given = json.loads(click.input or "")
    assert given["page"] == {"handle": 7}
    assert given["trigger"] is True
    assert given["selector"] == "#login-button"
    run.succeed(click.id, {"done": True})
    assert run.state() is RunState.SUCCEEDED
    assert json.loads(run.one(CLICK).output or "") == {
        "status": "SUCCEEDED",
        "done": True,
        "metadata": {},
    }


def test_what_the_later_editors_write_is_taken_too() -> None:
    later = node(
        "a",
        status="published",
        category="Pages",
        role="node",
        description="d",
        tags=["t"],
        layout={"width": 1, "height": 2},
        state={"stage": "idle"},
        middlewares=[],
        conditions={},
        extensions={"mine": 1},
    )
    definition = workflow([later], previewImage="data:", subgraphs=[], tags=["x"], extensions={})
    definition["metadata"] = {"name": "n", "namespace": "ns", "ownerId": "o", "originId": None}
    assert list(compile_workflow(definition).nodes) == [uid("a")]


def test_defaults_of_the_schema_stand_in_for_what_is_left_out() -> None:
    schema = {
        "parameters": {
            "type": "object",
            "required": ["url"],
            "properties": {
                "url": {"type": "string", "default": "https://example.com"},
                "deep": {"type": "object", "properties": {"n": {"default": 3}}},
            },
        },
        "results": {"type": "object", "properties": {"done": {"default": False}}},
    }
    made = compile_workflow(workflow([node("a", schema=schema, parameters={"deep": {}})]))
    assert made.nodes[uid("a")].params == {"url": "https://example.com", "deep": {"n": 3}}
    assert made.nodes[uid("a")].results == {"done": False}


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("results.a[0].b", ("a", 0, "b")),
        ("/results/a/0/b", ("a", "0", "b")),
        ("/results/a~1b/~0", ("a/b", "~")),
        ("results", ()),
    ],
)
def test_a_binding_is_a_dotted_path_or_a_json_pointer(path: str, steps: tuple[Any, ...]) -> None:
    source = node("a", ui={"outputPorts": [port("out", path)]})
    graph = compile_workflow(workflow([source, node("b")], [edge("a", "b")]))
    assert graph.nodes[uid("b")].fills == (Fill(("x",), Ref(Root.RESULTS, (uid("a"), *steps))),)


def test_an_edge_may_carry_a_parameter() -> None:
    source = node("a", ui={"outputPorts": [port("out", "parameters.p")]}, parameters={"p": 4})
    run = Played(compile_workflow(workflow([source, node("b")], [edge("a", "b")])))
    run.succeed(run.one(uid("a")).id)
    assert json.loads(run.one(uid("b")).input or "") == {"x": 4}


@pytest.mark.parametrize(
    "ports",
    ["out>state", "loose>in", ">in", "out>", ">"],
    ids=["into results", "unbound", "no source port", "no target port", "no ports"],
)
def test_an_edge_with_nothing_to_carry_is_for_order_only(ports: str) -> None:
    ui = {
        "inputPorts": [port("in", "parameters.x"), port("state", "results.state")],
        "outputPorts": [port("out", "results.y"), {"key": "loose"}],
    }
    made = workflow([node("a", ui=ui), node("b", ui=ui)], [edge("a", "b", ports)])
    graph = compile_workflow(made)
    assert graph.nodes[uid("b")].fills == ()
    assert graph.joins[uid("b")] == 1


def test_nodes_without_ports_may_be_wired_for_order_under_any_key() -> None:
    bare = [node("a", ui={}), node("b", ui={})]
    graph = compile_workflow(workflow(bare, [edge("a", "b", "next>prev")]))
    assert graph.nodes[uid("b")].fills == ()


def test_retry_timeout_and_affinity_are_kept() -> None:
    made = node(
        "a",
        retry={"maxRetries": 3, "waitMs": 10, "backoff": 2},
        timeoutMs=5000,
        affinity={"key": "session-1", "mode": "preferred", "ttlMs": 60000},
    )
    lowered = compile_workflow(workflow([made])).nodes[uid("a")]
    assert (lowered.retry.retries_max, lowered.retry.wait_ms, lowered.retry.factor) == (3, 10, 2)
    assert lowered.retry.moves_max is None
    assert lowered.timeout_ms == 5000
    assert lowered.affinity is not None
    assert (lowered.affinity.key, lowered.affinity.preferred) == ("session-1", True)
    assert lowered.affinity.ttl_ms == 60000


def test_max_attempts_counts_the_first_try() -> None:
    made = workflow([node("a", retry={"maxAttempts": 3, "delayMs": 7})])
    assert compile_workflow(made).nodes[uid("a")].retry.retries_max == 2
    assert compile_workflow(made).nodes[uid("a")].retry.wait_ms == 7


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert definition_hash({"b": 1, "a": "ä"}) == definition_hash({"a": "ä", "b": 1})
    assert definition_hash({"a": 1}) != definition_hash({"a": 2})
    assert len(definition_hash(seed())) == 64


def test_the_outline_tells_what_each_node_of_the_graph_stands_for() -> None:
    places = outline(seed())
    assert list(places) == [OPEN, CLICK]
    assert (places[CLICK].node, places[CLICK].label) == (CLICK, "Click Login")
    assert (places[CLICK].role, places[CLICK].container) == ("node", "")
    assert (places[CLICK].package, places[CLICK].version) == ("crawlerx_playwright", "2025.10.0")


def test_lowering_changes_nothing_in_the_definition() -> None:
    definition = seed()
    compile_workflow(definition)
    assert definition == seed()
