"""The description of the API names every shape a path takes and gives."""

from typing import Any

from windlass.server.app import NATIVE
from windlass.server.openapi import openapi


def names(schema: dict[str, Any]) -> set[str]:
    return {inner["$ref"].rpartition("/")[2] for inner in schema.get("anyOf", [schema])}


def test_starting_a_run_is_described_in_both_shapes() -> None:
    found = openapi(NATIVE)["paths"]["/api/v1/runs"]["post"]
    body = found["requestBody"]["content"]["application/json"]["schema"]
    answer = found["responses"]["202"]["content"]["application/json"]["schema"]
    assert names(body) == {"StartBody", "WorkflowBody"}
    assert names(answer) == {"StartedView", "RunRef"}


def test_a_run_is_described_with_how_its_dispatches_stand() -> None:
    document = openapi(NATIVE)
    found = document["paths"]["/api/v1/runs/{id}"]["get"]["responses"]["200"]
    assert names(found["content"]["application/json"]["schema"]) == {"RunView", "WorkflowRun"}
    node = document["components"]["schemas"]["RunNode"]["properties"]
    assert {"pendingAck", "dispatchId", "ackDeadline"} <= node.keys()
