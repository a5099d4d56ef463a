"""Workflows as AstraFlow's own editors write them are taken, with a warning where they are odd."""

import json
from typing import Any

import pytest

from tests.workflows import edge, node, uid, workflow
from windlass.dialects.workflow import check_workflow
from windlass.model.errors import DefinitionError
from windlass.model.notes import read_notes
from windlass.model.rows import Attempt
from windlass.model.states import RunState
from windlass.testing.played import RUN_ID, Played

PARAMETERS = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "url": {"type": "string"}, "z": {"type": "array"}},
}
DEBUG_GATE = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["allowed", "blocked"]},
        "reason": {"type": "string"},
    },
    "required": ["status"],
}
"""As in the original's example package: the status is the handler's own, and optional fields are
sent as null."""


def warnings_of(definition: dict[str, Any]) -> dict[str, str]:
    return {w.path: w.reason for w in check_workflow(definition).warnings}


def refused_strictly(definition: dict[str, Any]) -> set[str]:
    with pytest.raises(DefinitionError) as caught:
        check_workflow(definition, strict=True)
    return {problem.path for problem in caught.value.problems}


def attempt_of(run: Played, task_id: str) -> Attempt:
    found = run.tables[Attempt][f"{task_id}@1"]
    assert isinstance(found, Attempt)
    return found


def play(definition: dict[str, Any]) -> Played:
    return Played(check_workflow(definition).graph)


def test_templates_in_parameters_reach_the_handler_as_they_are_written() -> None:
    given = {"x": "{{nodes.fetch.results.count}}", "url": "https://{{host}}/", "z": ["{{a}}"]}
    made = workflow([node("a", schema={"parameters": PARAMETERS}, parameters=given)])
    assert list(warnings_of(made)) == ["nodes[0].parameters.x"]
    assert refused_strictly(made) == {"nodes[0].parameters.x"}
    run = play(made)
    [task] = run.queued()
    assert json.loads(task.input or "") == given


PAGE: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
}


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ({"anyOf": [PAGE, {"type": "null"}]}, {"x": "{{a}}"}),
        ({"oneOf": [PAGE, {"type": "array"}]}, {"x": "{{a}}"}),
        ({"anyOf": [{"type": "array", "items": PAGE}, {"type": "null"}]}, [{"x": "{{a}}"}]),
        ({"contains": {"type": "integer"}}, ["{{a}}"]),
        ({"not": {"properties": {"x": {"type": "string"}}}}, {"x": "{{a}}"}),
    ],
)
def test_templates_are_taken_also_where_several_schemas_judge_what_is_around_them(
    schema: dict[str, Any], given: object
) -> None:
    declared = {"type": "object", "properties": {"page": schema}}
    made = workflow([node("a", schema={"parameters": declared}, parameters={"page": given})])
    assert list(warnings_of(made)) == ["nodes[0].parameters.page"]
    [task] = play(made).queued()
    assert json.loads(task.input or "") == {"page": given}


def test_what_several_schemas_refuse_without_a_template_stays_refused() -> None:
    declared = {"type": "object", "properties": {"page": {"anyOf": [PAGE, {"type": "null"}]}}}
    made = workflow([node("a", schema={"parameters": declared}, parameters={"page": {"x": "3"}})])
    with pytest.raises(DefinitionError):
        check_workflow(made)


@pytest.mark.parametrize("word", ["node 1", "start:1", "Load (config)", "节点-1", "é"])
def test_ids_as_people_write_them_are_taken_with_a_warning(word: str) -> None:
    made = workflow([node("a", id=word)])
    assert list(warnings_of(made)) == ["nodes[0].id"]
    assert [task.node for task in play(made).queued()]


def test_a_parameter_that_is_just_wrong_is_refused_as_before() -> None:
    made = workflow([node("a", schema={"parameters": PARAMETERS}, parameters={"x": "three"})])
    with pytest.raises(DefinitionError):
        check_workflow(made)


def test_an_edge_between_ports_the_manifest_does_not_declare_is_for_order_only() -> None:
    made = workflow([node("a"), node("b")], [edge("a", "b", "done>trigger")])
    assert set(warnings_of(made)) == {"edges[0].source.port", "edges[0].target.port"}
    assert refused_strictly(made) == {"edges[0].source.port", "edges[0].target.port"}
    run = play(made)
    [first] = run.queued()
    run.succeed(first.id, {"y": 1})
    [second] = run.queued()
    assert json.loads(second.input or "") == {}


def test_an_edge_between_ports_of_other_types_is_for_order_only() -> None:
    gives = {"results": {"type": "object", "properties": {"y": {"type": "string"}}}}
    made = workflow(
        [node("a", schema=gives), node("b", schema={"parameters": PARAMETERS})], [edge("a", "b")]
    )
    assert list(warnings_of(made)) == ["edges[0]"]
    run = play(made)
    [first] = run.queued()
    run.succeed(first.id, {"y": "text"})
    [second] = run.queued()
    assert json.loads(second.input or "") == {}


def test_ids_of_the_first_generation_are_plain_words() -> None:
    one, two = node("a", id="node-1"), node("b", id="node_2.b")
    wire = {
        "id": "e",
        "source": {"node": "node-1", "port": "out"},
        "target": {"node": "node_2.b", "port": "in"},
    }
    made = workflow([one, two], [wire], id="demo-workflow")
    assert set(warnings_of(made)) == {"id", "nodes[0].id", "nodes[1].id"}
    run = play(made)
    [first] = run.queued()
    run.succeed(first.id, {"y": 5})
    [second] = run.queued()
    assert json.loads(second.input or "") == {"x": 5}


@pytest.mark.parametrize("name", ["a/b", "a~1", "-x", "x" * 101, "a ", "a\nb", "a@1", "#a"])
def test_an_id_that_would_be_misread_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError):
        check_workflow(workflow([node("a", id=name)]))


def test_how_a_task_ended_is_no_part_of_its_results() -> None:
    made = workflow([node("a", schema={"results": DEBUG_GATE})])
    run = play(made)
    [task] = run.queued()
    run.succeed(task.id, {"status": "allowed", "reason": None})
    assert run.state() is RunState.SUCCEEDED
    assert json.loads(run.task(task.id).output or "") == {"status": "allowed", "reason": None}
    assert attempt_of(run, task.id).notes is None


def test_a_result_that_lacks_what_the_package_promises_is_taken_with_a_warning() -> None:
    run = play(workflow([node("a", schema={"results": DEBUG_GATE})]))
    [task] = run.queued()
    run.succeed(task.id, {"reason": "as the original's worker strips it"})
    assert run.state() is RunState.SUCCEEDED
    notes = read_notes(attempt_of(run, task.id).notes)
    assert notes.warnings == ('results: "status" is a required property',)


@pytest.mark.parametrize("where", ["node", "workflow"])
def test_whoever_asks_for_it_has_results_checked_strictly(where: str) -> None:
    made = workflow([node("a", schema={"results": DEBUG_GATE})])
    asking = made["nodes"][0] if where == "node" else made
    asking["extensions"] = {"strictResults": True}
    run = play(made)
    [task] = run.queued()
    run.succeed(task.id, {"status": "SUCCEEDED"})
    assert run.state() is RunState.FAILED
    assert "E.RESULT.INVALID" in (run.task(task.id).error or "")
    assert task.id.startswith(RUN_ID)


def test_a_package_asks_for_it_in_a_nodes_config() -> None:
    made = workflow([node("a")])
    kept = {"package": "kit", "version": "1.0.0", "config": {"strictResults": True}}
    locked = {"packages": {"kit@1.0.0:kit.a": {**kept, "schema": {"results": DEBUG_GATE}}}}
    lowered = check_workflow(made, locked).graph.nodes[uid("a")]
    assert lowered.results_strict


def test_results_that_stand_at_pending_say_how_the_task_ended() -> None:
    """The design's own example shows `results.status` to people, PENDING until then."""
    run = play(workflow([node("a", results={"status": "PENDING", "done": False})]))
    [task] = run.queued()
    run.succeed(task.id, {"done": True})
    output = json.loads(run.task(task.id).output or "")
    assert output == {"status": "SUCCEEDED", "done": True}
