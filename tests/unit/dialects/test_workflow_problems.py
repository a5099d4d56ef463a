"""A bad workflow is refused with all its problems at once, each with path, reason and hint."""

from typing import Any

import pytest

from tests.workflows import container, edge, node, port, subgraph, uid, workflow
from windlass.dialects.flow import Limits
from windlass.dialects.workflow import check_workflow, compile_workflow
from windlass.model.errors import DefinitionError, Problem


def problems(definition: object, **limits: int) -> list[Problem]:
    with pytest.raises(DefinitionError) as caught:
        check_workflow(definition, limits=Limits(**limits), strict=True)
    return caught.value.problems


def found(definition: object) -> dict[str, str]:
    return {problem.path: problem.reason for problem in problems(definition)}


def of_node(**fields: Any) -> dict[str, str]:
    given = found(workflow([node("a", **fields)]))
    return {path.removeprefix("nodes[0]."): reason for path, reason in given.items()}


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_workflow_is_an_object(value: object) -> None:
    assert "expected an object" in found(value)["definition"]


def test_everything_wrong_is_said_at_once() -> None:
    bad = workflow(
        [node("a", id="node-1", retry={"maxRetries": -1}), node("b", wrong=1)],
        [{"id": "", "source": {"node": "x", "port": "out"}, "target": {"node": uid("b")}}],
        id="workflow-1",
        schemaVersion="1",
        extra=True,
    )
    assert set(found(bad)) == {
        "id",
        "schemaVersion",
        "extra",
        "nodes[0].id",
        "nodes[0].retry.maxRetries",
        "nodes[1].wrong",
        "edges[0].id",
        "edges[0].source.node",
    }


def test_an_id_that_is_no_uuid_is_refused_with_a_hint() -> None:
    bad = workflow([node("a", id="node-1")])
    [problem] = problems(bad)
    assert (problem.path, problem.reason) == ("nodes[0].id", '"node-1" is not a UUID')
    assert "UUID" in problem.hint


def test_a_misspelt_field_gets_the_closest_one_as_a_hint() -> None:
    [problem] = problems(workflow([node("a", lable="x")]))
    assert problem.path == "nodes[0].lable"
    assert problem.hint == 'did you mean "label"?'


def test_ids_stand_once() -> None:
    twice = workflow([node("a"), node("a"), node("b")], [edge("a", "b"), edge("a", "b")])
    assert set(found(twice)) == {"nodes[1].id", "edges[1].id"}


def test_an_edge_between_nodes_that_are_not_there() -> None:
    bad = workflow([node("a")], [edge("a", "gone"), edge("lost", "a")])
    assert set(found(bad)) == {"edges[0].target.node", "edges[1].source.node"}


def test_a_port_must_be_one_the_node_declares() -> None:
    [problem] = problems(workflow([node("a"), node("b")], [edge("a", "b", "oot>in")]))
    assert problem.path == "edges[0].source.port"
    assert problem.reason == 'node "a" has no output port "oot"; the edge is for order only'
    assert problem.hint == 'did you mean "out"?'


def test_an_output_is_no_input() -> None:
    assert "edges[0].target.port" in found(
        workflow([node("a"), node("b")], [edge("a", "b", "out>out")])
    )


def test_a_circle_is_told_with_its_nodes() -> None:
    nodes = [node(name) for name in "abcd"]
    edges = [edge("a", "b"), edge("b", "c"), edge("c", "b"), edge("d", "d")]
    reasons = sorted(found(workflow(nodes, edges)).values())
    assert reasons == [
        "nodes wait for each other: b → c → b",
        "nodes wait for each other: d → d",
    ]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("outputs.a", "neither parameters nor results"),
        ("results..a", "is not a path"),
        ("results.a[x]", "is not a path"),
        ("/results/~2", "is not a path"),
        ("", "is missing"),
        (3, "expected text"),
    ],
)
def test_a_binding_needs_a_path_from_a_root(path: object, said: str) -> None:
    ui = {"outputPorts": [{"key": "out", "binding": {"path": path}}]}
    assert said in of_node(ui=ui)["ui.outputPorts[0].binding.path"]


def test_ports_have_keys_of_their_own() -> None:
    ui = {"inputPorts": [port("in", "parameters.x"), port("in", "parameters.y"), {}]}
    assert set(of_node(ui=ui)) == {"ui.inputPorts[1].key", "ui.inputPorts[2]"}


def test_a_port_of_a_plain_node_reaches_no_other_node() -> None:
    ui = {"inputPorts": [port("in", "parameters.x", prefix=f"#{uid('b')}")]}
    made = workflow([node("a"), node("b", ui=ui), node("c", ui=ui)], [edge("a", "c")])
    [problem] = problems(made)
    assert "is not inside this node" in problem.reason


SCHEMA = {
    "parameters": {
        "type": "object",
        "required": ["url", "x"],
        "properties": {"url": {"type": "string"}, "x": {"type": "integer"}},
    }
}


def test_fixed_parameters_meet_their_schema() -> None:
    assert of_node(schema=SCHEMA, parameters={"url": 3}) == {
        "parameters.url": '3 is not of type "string"',
        "parameters.x": '"x" is a required property',
    }


def test_what_an_edge_fills_need_not_be_there_yet() -> None:
    target = node("b", schema=SCHEMA, parameters={"url": "u"})
    compile_workflow(workflow([node("a"), target], [edge("a", "b")]))


def test_an_edge_may_not_fill_what_the_schema_leaves_no_room_for() -> None:
    closed = {"parameters": {"type": "object", "properties": {}, "additionalProperties": False}}
    made = workflow([node("a"), node("b", schema=closed)], [edge("a", "b")])
    assert "which the schema does not allow" in found(made)["nodes[1].parameters.x"]


def test_ports_of_types_that_never_fit_are_refused() -> None:
    gives = {"results": {"type": "object", "properties": {"y": {"type": "string"}}}}
    takes = {"parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    made = workflow([node("a", schema=gives), node("b", schema=takes)], [edge("a", "b")])
    assert (
        found(made)["edges[0]"] == '"out" is string, "in" takes integer; the edge is for order only'
    )


@pytest.mark.parametrize(("given", "taken"), [("integer", "number"), ("number", "integer")])
def test_numbers_fit_numbers(given: str, taken: str) -> None:
    gives = {"results": {"type": "object", "properties": {"y": {"type": given}}}}
    takes = {"parameters": {"type": "object", "properties": {"x": {"type": [taken, "null"]}}}}
    made = workflow([node("a", schema=gives), node("b", schema=takes)], [edge("a", "b")])
    compile_workflow(made)


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"$ref": "https://example.com/schema.json"}]
)
def test_a_schema_must_be_one_and_reach_for_nothing(schema: dict[str, Any]) -> None:
    given = of_node(schema={"parameters": schema})
    assert "is not a JSON Schema we can use" in given["schema.parameters"]


def test_a_node_needs_a_package_and_a_version() -> None:
    bare = node("a")
    del bare["package"]
    made = workflow([bare, node("b", package={"name": "kit"})])
    assert found(made) == {
        "nodes[0].package": 'node "a" names no package',
        "nodes[1].package.version": "is missing and was not resolved",
    }


def test_a_package_is_not_below_the_version_the_workflow_asks_for() -> None:
    runtimes = {"py": {"workerHints": {"package": "kit", "minVersion": "1.10.0"}}}
    low, high = ({"name": "kit", "version": version} for version in ("1.9.0", "1.10.0"))
    made = workflow([node("a", package=low), node("b", package=high)], runtimes=runtimes)
    [problem] = problems(made)
    assert problem.path == "nodes[0].package.version"
    assert problem.reason == "1.9.0 is below 1.10.0, which runtimes.py.workerHints asks for"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"conditions": {"unless": 1}}, "conditions.unless"),
        ({"conditions": {"when": 3}}, "conditions.when"),
        ({"conditions": {"when": "results.done"}}, "conditions.when"),
        ({"timeoutMs": -1}, "timeoutMs"),
        ({"affinity": {"mode": "sticky"}}, "affinity.key"),
        ({"affinity": {"key": "k", "mode": "glued"}}, "affinity.mode"),
        ({"role": "king"}, "role"),
        ({"parameters": []}, "parameters"),
        ({"ui": 3}, "ui"),
        ({"type": ""}, "type"),
        ({"middlewares": [{}]}, "middlewares[0].id"),
        ({"middlewares": [node("m", id="a:b")]}, "middlewares[0].id"),
        ({"middlewares": [node("m", conditions={"when": "x"})]}, "middlewares[0].conditions"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(fields: dict[str, Any], path: str) -> None:
    assert path in of_node(**fields)


def test_a_container_says_what_is_inside_and_it_is_there() -> None:
    empty = {**container("a", "x"), "parameters": {}}
    made = workflow([empty, container("b", "grph")], subgraphs=[subgraph("graph", [node("c")])])
    given = problems(made)
    assert [problem.path for problem in given] == [
        "nodes[0].parameters.__container",
        "nodes[1].parameters.__container.subgraphId",
    ]
    assert given[1].hint == 'did you mean "graph"?'


def test_a_graph_inside_itself_is_refused() -> None:
    graphs = [subgraph("one", [container("b", "two")]), subgraph("two", [container("c", "one")])]
    [problem] = problems(workflow([container("a", "one")], subgraphs=graphs))
    assert problem.reason == "the subgraph is inside itself: graph one → graph two → graph one"


def test_problems_inside_a_subgraph_are_found_where_they_stand() -> None:
    inner = [node("b", schema=SCHEMA, parameters={"x": 1}), node("c", id="nope")]
    made = workflow([container("a", "g"), container("d", "g")], subgraphs=[subgraph("g", inner)])
    assert set(found(made)) == {
        "subgraphs[0].definition.nodes[0].parameters.url",
        "subgraphs[0].definition.nodes[1].id",
    }


def test_a_loop_must_be_able_to_end() -> None:
    made = container("a", "g", inside={"loop": {"enabled": True}})
    given = found(workflow([made], subgraphs=[subgraph("g", [node("b")])]))
    assert given == {"nodes[0].parameters.__container.loop": "the loop would never end"}


def test_subgraphs_count_for_every_container_they_are_inside() -> None:
    graphs = [subgraph("g0", [node("leaf")])]
    for level in range(1, 12):
        inside = [container(f"l{level}", f"g{level - 1}"), container(f"r{level}", f"g{level - 1}")]
        graphs.append(subgraph(f"g{level}", inside))
    made = workflow([container("top", "g11")], subgraphs=graphs)
    assert "more than 1000 nodes" in problems(made, nodes_max=1000)[0].reason


def test_a_port_of_a_middleware_must_be_there() -> None:
    host = node("b", middlewares=[node("m", id="m")])
    edges = [
        edge("a", "b", "out>mw:m:input:oops"),
        edge("a", "b", "out>mw:gone:input:in"),
        edge("a", "b", "out>mw:m:output:out"),
        edge("a", "b", "out>mw:m"),
    ]
    given = found(workflow([node("a"), host], edges))
    assert [given[f"edges[{at}].target.port"] for at in range(4)] == [
        'node "m" has no input port "oops"; the edge is for order only',
        'node "b" has no middleware "gone"',
        "an output port cannot be the target of an edge",
        '"mw:m" is not a port of a middleware',
    ]


def test_limits_of_a_node_are_checked_as_those_of_flows_are() -> None:
    said = of_node(limits=[{"key": "quota:runs", "max": 1}, {"max": 0}])
    assert said["limits[0].key"] == "keys that begin so are of quotas"
    assert said["limits[1].key"] == "the limit has no key"
