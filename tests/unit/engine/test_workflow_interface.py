"""A workflow's own inputs and outputs: checked when a run starts, filled in, given back."""

from typing import Any

import pytest

from tests.unit.engine.test_workflow_runs import bench
from tests.workflows import edge, node, uid, workflow
from windlass.dialects.workflow import compile_workflow
from windlass.model.errors import BadRequest, DefinitionError
from windlass.model.rows import Run
from windlass.model.states import RunState

pytestmark = pytest.mark.anyio


def page() -> dict[str, Any]:
    places = [{"node": uid(name), "path": "parameters.url"} for name in "ab"]
    url = {"schema": {"type": "string"}, "required": True, "to": places}
    place = {"node": uid("a"), "path": "parameters.how.deep"}
    depth = {"schema": {"type": "integer", "default": 2}, "to": [place]}
    outputs = {
        "title": {"node": uid("b"), "path": "results.title"},
        "found": {"node": uid("a"), "path": "results"},
    }
    inputs = {"url": url, "depth": depth}
    nodes = [node("a"), node("b")]
    return workflow(nodes, [edge("a", "b")], inputs=inputs, outputs=outputs)


async def test_inputs_reach_nodes_and_outputs_are_shared() -> None:
    async with bench("a", "b") as work:
        run_id = await work.start(page(), '{"url":"u"}')
        given = await work.next()
        assert given.input == '{"url":"u","how":{"deep":2}}'
        await work.done(given, {"y": 1})
        given = await work.next()
        assert given.input == '{"url":"u","x":1}'
        await work.done(given, {"title": "T", "more": 3})
        ended = await work.local.ended(run_id)
        shared = ended.shared
    assert ended.state is RunState.SUCCEEDED
    assert (shared["title"], shared["found"]["y"]) == ("T", 1)


@pytest.mark.parametrize(
    ("definition", "params", "told"),
    [
        (page(), "{}", 'the parameter "url" is missing'),
        (page(), '{"ulr":"u"}', 'did you mean "url"?'),
        (workflow([node("a")]), '{"url":"u"}', "it takes none"),
    ],
)
async def test_what_does_not_fit_is_refused(definition: Any, params: str, told: str) -> None:
    async with bench("a", "b") as work:
        with pytest.raises(BadRequest) as caught:
            await work.start(definition, params)
        assert told in str(caught.value)
        assert await work.local.engine.store.count(Run) == 0


def test_places_that_are_not_there_are_problems() -> None:
    inputs = {
        "a": {"to": [{"node": uid("z"), "path": "parameters.x"}]},
        "b": {"to": [{"node": uid("a"), "path": "results.x"}], "required": "yes"},
    }
    outputs = {"o": {"node": uid("a"), "path": "results.x.y"}}
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(workflow([node("a")], inputs=inputs, outputs=outputs))
    assert [problem.path for problem in caught.value.problems] == [
        "inputs.a.to[0].node",
        "inputs.b.required",
        "inputs.b.to[0].path",
        "outputs.o.path",
    ]
