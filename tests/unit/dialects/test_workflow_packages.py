"""What a workflow takes from packages is kept, and is all it needs afterwards."""

from typing import Any

import pytest

from tests.workflows import edge, node, port, uid, workflow
from windlass.dialects.workflow import Found, check_workflow, compile_workflow, resolve
from windlass.model.errors import DefinitionError

UI = {
    "inputPorts": [port("go", "parameters.go")],
    "outputPorts": [port("went", "results.went")],
    "widgets": [{"key": "w"}],
}
SCHEMA = {
    "parameters": {"type": "object", "properties": {"speed": {"type": "integer", "default": 5}}},
    "results": {"type": "object", "required": ["status"]},
}
MANIFEST = {
    "name": "kit",
    "version": "2.0.0",
    "nodes": [
        {"type": "kit.a", "schema": SCHEMA, "ui": UI, "config": {"exec_mode": "thread"}},
        {"type": "kit.b", "ui": UI, "runtimes": {"py": {"handler": "b"}}},
    ],
}


class Shelf:
    """A catalog of a few packages; the newest comes first."""

    def __init__(self, *found: Found) -> None:
        self.found = found
        self.asked: list[tuple[str, str | None, str | None]] = []

    def find(self, name: str, version: str | None, min_version: str | None) -> Found | None:
        self.asked.append((name, version, min_version))
        fitting = (one for one in self.found if name == "kit" and version in (None, one.version))
        return next(fitting, None)


def bare(name: str, **fields: Any) -> dict[str, Any]:
    made = node(name, package={"name": "kit"}, **fields)
    del made["ui"]
    return made


def test_version_schema_and_ports_come_from_the_package() -> None:
    definition = workflow([bare("a"), bare("b")], [edge("a", "b", "went>go")])
    locked = resolve(definition, Shelf(Found("2.0.0", MANIFEST)))
    graph = compile_workflow(definition, locked)
    first, second = graph.nodes[uid("a")], graph.nodes[uid("b")]
    assert first.target is not None
    assert first.target.service == "kit@2.0.0:kit.a"
    assert first.params == {"speed": 5}
    assert first.results_schema
    assert second.fills is not None
    assert [fill.path for fill in second.fills] == [("go",)]


def test_what_is_kept_is_plain_and_small() -> None:
    locked = resolve(workflow([bare("a")]), Shelf(Found("2.0.0", MANIFEST)))
    assert locked == {
        "packages": {
            "kit@:kit.a": {
                "package": "kit",
                "version": "2.0.0",
                "type": "kit.a",
                "schema": SCHEMA,
                "config": {"exec_mode": "thread"},
                "ui": {side: UI[side] for side in ("inputPorts", "outputPorts")},
            }
        }
    }


def test_what_the_node_says_itself_comes_first() -> None:
    own = {"parameters": {"type": "object", "properties": {"speed": {"default": 9}}}}
    made = node("a", schema=own, package={"name": "kit", "version": "2.0.0"})
    locked = resolve(workflow([made]), Shelf(Found("2.0.0", MANIFEST)))
    lowered = compile_workflow(workflow([made]), locked).nodes[uid("a")]
    assert lowered.params == {"speed": 9}
    assert lowered.results_schema


def test_a_package_without_a_manifest_lends_its_version_only() -> None:
    definition = workflow([node("a", package={"name": "kit"})])
    locked = resolve(definition, Shelf(Found("1.4.0")))
    target = compile_workflow(definition, locked).nodes[uid("a")].target
    assert target is not None
    assert target.version == "1.4.0"


def test_the_catalog_is_asked_for_no_less_than_the_workflow_wants() -> None:
    runtimes = {"py": {"workerHints": {"package": "kit", "minVersion": "1.5.0"}}}
    shelf = Shelf(Found("2.0.0", MANIFEST))
    resolve(workflow([bare("a"), bare("b")], runtimes=runtimes), shelf)
    assert shelf.asked == [("kit", None, "1.5.0")] * 2


def test_missing_packages_and_unknown_types_are_told_together() -> None:
    definition = workflow(
        [
            bare("zebra"),
            node("a", package={"name": "gone", "version": "1"}),
            node("b", middlewares=[node("m", id="m", package={"name": "none"})]),
        ]
    )
    with pytest.raises(DefinitionError) as caught:
        resolve(definition, Shelf(Found("2.0.0", MANIFEST), Found("1.0.0")))
    assert {problem.path: problem.reason for problem in caught.value.problems} == {
        "nodes[0].type": '"kit 2.0.0" has no node type "kit.zebra"',
        "nodes[1].package": 'package "gone" (1) is not known',
        "nodes[2].middlewares[0].package": 'package "none" (any version) is not known',
    }


def test_a_version_taken_from_a_package_must_not_be_too_low_either() -> None:
    runtimes = {"py": {"workerHints": {"package": "kit", "minVersion": "3.0.0"}}}
    definition = workflow([bare("a")], runtimes=runtimes)
    locked = resolve(definition, Shelf(Found("2.0.0", MANIFEST)))
    with pytest.raises(DefinitionError, match=r"2\.0\.0 is below 3\.0\.0"):
        compile_workflow(definition, locked)


def test_a_version_nobody_has_is_stood_in_for_by_one_that_meets_the_hints() -> None:
    runtimes = {"py": {"workerHints": {"package": "kit", "minVersion": "1.5.0"}}}
    pinned = node("a", package={"name": "kit", "version": "1.6.0"})
    definition = workflow([pinned], runtimes=runtimes)
    locked = resolve(definition, Shelf(Found("2.0.0", MANIFEST)))
    graph, [warning] = check_workflow(definition, locked)
    target = graph.nodes[uid("a")].target
    assert target is not None
    assert target.version == "2.0.0"
    assert warning.path == "nodes[0].package.version"
    del definition["runtimes"]
    with pytest.raises(DefinitionError):
        resolve(definition, Shelf(Found("2.0.0", MANIFEST)))
