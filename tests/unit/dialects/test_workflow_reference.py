"""The reference of the workflow dialect names everything the dialect knows."""

from pathlib import Path

from windlass.dialects.workflow import (
    bindings,
    conditions,
    containers,
    edges,
    nodes,
    retries,
    source,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "workflow-dialect.md"


def test_every_field_is_in_the_reference() -> None:
    fields = source.WORKFLOW_FIELDS | nodes.NODE_FIELDS | edges.EDGE_FIELDS | edges.END_FIELDS
    fields |= bindings.BINDING_FIELDS | bindings.SCOPE_FIELDS | source.SUBGRAPH_FIELDS
    fields |= containers.CONTAINER_FIELDS | containers.LOOP_FIELDS
    fields |= retries.RETRY_FIELDS | retries.AFFINITY_FIELDS
    fields |= set(nodes.ROLES) | set(bindings.MODES) | {f'"{op}"' for op in ("all", "any", "not")}
    fields |= conditions.FIELDS - {"all", "any", "not"}
    text = PAGE.read_text()
    known = {name for name in fields if f"`{name}`" in text or f"{name}:" in text}
    assert sorted(fields - known) == []
