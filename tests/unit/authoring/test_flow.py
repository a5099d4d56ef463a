"""Flows written in Python say what the same flow says as JSON, and the dialect accepts it."""

import json
from pathlib import Path
from typing import Any

import pytest

from windlass import Flow, Worker
from windlass.authoring import branch, eq, gt
from windlass.dialects.flow import compile_flow
from windlass.model.errors import DefinitionError
from windlass.model.graph import Kind, Ref, Root


def test_arrows_become_edges() -> None:
    with Flow("greet") as f:
        shout = f.step("shout", "transform", input="$params.name", output="text", retries=2)
        ask = f.approval("ask", prompt="Send it?")
        send = f.step("send", "mail", transport="queue", input={"body": "$shared.text"})
        shout >> ask
        ask.on("approved") >> send
        ask.on("rejected", "timeout") >> f.end("not sent")
    assert f.compile() == {
        "name": "greet",
        "start": "shout",
        "on_failure": "fail",
        "nodes": {
            "shout": {
                "kind": "executor",
                "service": "transform",
                "exec_type": "queue",
                "max_retries": 2,
                "prep": {"input_key": "$params.name"},
                "post": {"output_key": "text"},
            },
            "ask": {"kind": "approval", "params": {"prompt": "Send it?"}},
            "send": {
                "kind": "executor",
                "service": "mail",
                "exec_type": "queue",
                "prep": {"input_map": {"body": "$shared.text"}},
            },
        },
        "edges": [
            {"from": "shout", "action": "default", "to": "ask"},
            {"from": "ask", "action": "approved", "to": "send"},
            {"from": "ask", "action": "rejected", "to": ""},
            {"from": "ask", "action": "timeout", "to": ""},
        ],
    }
    assert set(compile_flow(f.compile()).nodes) == {"shout", "ask", "send"}


def everything() -> Flow:
    inner = Flow("inner")
    inner.step("m", "transform", input="$params.x", output="m") >> inner.step("r", "route")
    f = Flow("all", description="one of each", on_failure="fail")
    pick = f.choice("pick", {"big": gt("$params.n", 5), "b": eq("$params.p", "B")}, default="b")
    fan = f.parallel(
        "fan",
        ["transform", branch("mul", transport="local", params={"mul": 2})],
        on_error="collect_errors",
        output="agg",
    )
    each = f.foreach(
        "each", "transform", over="$params.list", max_parallel=3, overrides={0: branch("sum")}
    )
    sub = f.subflow("sub", inner, output="sub_out", overrides={"m": branch("sum")})
    pause = f.timer("pause", 200)
    paid = f.wait_event("paid", "$shared.paid", wait_timeout_ms=500)
    run = f.script("run", {"cmd": "true"}, timeout_ms=100)
    pick.on("big") >> fan >> each >> sub >> pause >> paid >> run >> f.end()
    pick.on("b") >> run
    return f


def test_every_kind_is_accepted_by_the_dialect() -> None:
    graph = compile_flow(everything().compile())
    kinds = {node.kind for node in graph.nodes.values()}
    assert kinds == set(Kind) - {Kind.JOIN, Kind.APPROVAL, Kind.PLAN}
    assert graph.fails_run


def test_a_failed_step_fails_the_run_unless_told_otherwise() -> None:
    for f, fails in (Flow("f"), True), (Flow("f", on_failure="continue"), False):
        f.step("a", "s") >> f.step("b", "s")
        assert compile_flow(f.compile()).fails_run is fails


def test_a_handler_stands_for_its_service() -> None:
    worker = Worker()

    @worker.service("web.fetch")
    def fetch(url: str) -> str:
        return url

    def stray() -> None: ...

    f = Flow("f")
    f.step("get", fetch)
    assert f.compile()["nodes"]["get"]["service"] == "web.fetch"
    with pytest.raises(TypeError, match="stray is no service"):
        f.step("stray", stray)


def test_a_misspelt_transport_is_named() -> None:
    with pytest.raises(ValueError, match='"que"; did you mean "queue"'):
        Flow("f").step("a", "s", transport="que")  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["send", ["send"], None])
def test_an_arrow_that_leads_to_no_step_is_named(target: Any) -> None:
    """Not taken for the end of the path: the run would succeed without what comes after it."""
    with Flow("f") as f:
        ask = f.approval("ask")
    with pytest.raises(TypeError, match=r'step "ask".*leads to a step or an end\(\)'):
        ask.on("approved") >> target
    with pytest.raises(TypeError, match='step "ask"'):
        ask >> target
    assert f.compile()["edges"] == []


def test_a_list_may_be_written_out() -> None:
    f = Flow("f")
    f.foreach("each", "s", over=[1, 2, 3])
    node = compile_flow(f.compile()).nodes["each"]
    assert node.input == Ref(Root.LITERAL, literal=[1, 2, 3])


def test_what_the_server_would_find_is_found_at_once() -> None:
    f = Flow("f")
    f.step("a", "s", input="$param.x") >> f.end()
    f.step("b", "s")
    with pytest.raises(DefinitionError) as caught:
        f.compile()
    found = [problem.path for problem in caught.value.problems]
    assert found == ["nodes.a.prep.input_key", "nodes.b"]


def test_problems_are_told_all_at_once() -> None:
    f, other = Flow("f"), Flow("g")
    a = f.step("a", "s")
    a >> f.step("a", "s")
    a >> other.step("z", "s")
    with pytest.raises(DefinitionError) as caught:
        f.compile()
    assert len(caught.value.problems) == 3
    with pytest.raises(DefinitionError, match="no steps"):
        Flow("empty").compile()


def test_a_saved_flow_is_its_definition(tmp_path: Path) -> None:
    f = everything()
    f.save(tmp_path / "f.json")
    read: Any = json.loads((tmp_path / "f.json").read_text())
    assert read == f.compile()


@pytest.mark.parametrize("name", ["", " ", "orders/daily", "x" * 201])
def test_compiling_refuses_names_that_the_server_would(name: str) -> None:
    flow = Flow(name)
    flow.step("a", "svc")
    with pytest.raises(DefinitionError, match="name"):
        flow.compile()
