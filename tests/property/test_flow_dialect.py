"""Whatever is sent in as a flow, it becomes a sound graph or a DefinitionError."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.dialects.flow import Limits, compile_flow, read_definition
from windlass.dialects.flow.conditions import OPERATORS
from windlass.dialects.flow.nodes import NODE_FIELDS
from windlass.model.errors import DefinitionError
from windlass.model.graph import Graph, Kind

KINDS = ["executor", "choice", "parallel", "subflow", "timer", "foreach", "wait_event", "approval"]
WORDS = ["a", "b", "x", "s", "default", "error", "retry", "concurrent", "http", "queue"]
WORDS += ["local_func", "local_script", "$params.a", "$shared.b[0]", "$input", "$", "$$", "$no.x"]

keys = st.sampled_from(["a", "b", "c/d", "*"])
words = st.sampled_from(WORDS) | st.text(max_size=5)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(words, inner, max_size=4)
        | st.dictionaries(st.sampled_from(OPERATORS), inner, max_size=2)
    ),
    max_leaves=12,
)


def edges() -> st.SearchStrategy[list[dict[str, str]]]:
    edge = {"from": keys, "action": words, "to": keys | st.just("")}
    return st.lists(st.fixed_dictionaries({}, optional=edge), max_size=4)


@st.composite
def sound_nodes(draw: st.DrawFn) -> dict[str, Any]:
    """A node with what its kind needs, and perhaps a field that spoils it."""
    kind = draw(st.sampled_from(KINDS))
    node: dict[str, Any] = {"kind": kind, "service": "s", "params": {"delay_ms": 1}}
    node["params"]["signal_key"] = "$shared.go"
    if kind == "parallel":
        node["parallel_services"] = draw(st.lists(st.sampled_from("st"), min_size=1, max_size=3))
    if kind == "foreach":
        node["foreach_execs"] = [{"index": n} for n in draw(st.sets(st.integers(0, 5)))]
    if kind == "choice":
        node["choice_cases"] = [{"action": "x", "expr": {"eq": ["$params.a", 1]}}]
    if kind == "subflow":
        node["subflow"] = draw(flows())
    field = draw(st.none() | st.sampled_from(sorted(NODE_FIELDS)))
    if field is not None and draw(st.integers(0, 3)) == 0:
        node[field] = draw(anything)
    return node


@st.composite
def flows(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly chains through every node, so that many of them are accepted."""
    nodes = draw(st.dictionaries(keys, st.deferred(sound_nodes), min_size=1, max_size=3))
    order = list(nodes)
    chained = [{"from": a, "to": b} for a, b in pairwise(order)]
    return {"start": order[0], "nodes": nodes, "edges": draw(st.just(chained) | edges())}


def compiled(definition: object) -> Graph | None:
    try:
        return compile_flow(definition)
    except DefinitionError as error:
        said = [bool(problem.path and problem.reason) for problem in error.problems]
    assert said
    assert all(said)
    return None


@given(anything | st.dictionaries(st.sampled_from(["start", "nodes", "edges"]), anything))
def test_any_json_value_is_a_graph_or_a_definition_error(value: object) -> None:
    compiled(value)


@given(st.fixed_dictionaries({"start": keys, "nodes": st.dictionaries(keys, anything)}))
def test_any_nodes_are_a_graph_or_a_definition_error(value: object) -> None:
    compiled(value)


@given(flows())
@settings(max_examples=300)
def test_an_accepted_flow_is_a_sound_graph(definition: dict[str, Any]) -> None:
    graph = compiled(definition)
    if graph is None:
        return
    for path, node in graph.nodes.items():
        assert node.path == path
        assert node.kind is not Kind.CALL or node.target is not None
        assert not node.scope_path or node.scope_path in graph.nodes
        if node.kind is Kind.SUBFLOW:
            assert all(graph.nodes[start].scope_path == path for start in graph.starts[path])
        for index in range(node.branches):
            assert graph.branch(node, index).target
        if node.kind is Kind.FOREACH:
            assert all(graph.branch(node, index).target for index in {*node.overrides, 10**6})
    for source, leaving in graph.edges.items():
        scope = graph.nodes[source].scope_path
        assert len({edge.on for edge in leaving}) == len(leaving)
        for edge in leaving:
            assert edge.source == source
            assert edge.target is None or graph.nodes[edge.target].scope_path == scope


@given(flows())
def test_lowering_is_the_same_every_time_and_changes_nothing(definition: dict[str, Any]) -> None:
    def outcome() -> Graph | list[str]:
        try:
            return compile_flow(definition)
        except DefinitionError as error:
            return [str(problem) for problem in error.problems]

    before = repr(definition)
    assert outcome() == outcome()
    assert repr(definition) == before


@given(anything)
def test_json_text_reads_back_as_the_value_it_was_written_from(value: object) -> None:
    text = json.dumps(value)
    try:
        read = read_definition(text, yaml=False)
    except DefinitionError:
        return
    assert read == json.loads(text)


@given(st.text() | st.lists(st.sampled_from("{}[]:,-&*#!|>'\"\n a1?<"), max_size=60).map("".join))
def test_any_text_is_a_value_or_a_definition_error(text: str) -> None:
    for yaml in (None, True, False):
        with suppress(DefinitionError):
            read_definition(text, yaml=yaml, limits=Limits(depth_max=10, values_max=100))
