"""Small workflows for tests: ids from names, so that a failure reads well."""

from typing import Any
from uuid import UUID, uuid5

_NAMES = UUID("7f0f4a86-0f0a-4a39-8e0a-3a4a8a4e1f00")

Json = dict[str, Any]


def uuid(name: str) -> str:
    return str(uuid5(_NAMES, name))


def node(name: str, type_: str, package: str = "demo", version: str = "1.0.0", **more: Any) -> Json:
    """A node with one input and one output port, `in` and `out`."""
    return {
        "id": uuid(name),
        "type": type_,
        "package": {"name": package, "version": version},
        "label": name,
        "position": {"x": 0, "y": 0},
        "parameters": {"name": name},
        "ui": {
            "inputPorts": [
                {"key": "in", "label": "In", "binding": {"path": "parameters.in", "mode": "write"}}
            ],
            "outputPorts": [
                {"key": "out", "label": "Out", "binding": {"path": "results.echo", "mode": "read"}}
            ],
        },
        **more,
    }


def edge(source: str, target: str) -> Json:
    return {
        "id": uuid(f"{source}-{target}"),
        "source": {"node": uuid(source), "port": "out"},
        "target": {"node": uuid(target), "port": "in"},
    }


def workflow(name: str, nodes: list[Json], edges: list[Json], **more: Any) -> Json:
    return {
        "id": uuid(name),
        "schemaVersion": "2025-10",
        "metadata": {"name": name},
        "nodes": nodes,
        "edges": edges,
        **more,
    }


def chain(name: str, *types: str, package: str = "demo", version: str = "1.0.0") -> Json:
    """Nodes one after the other, each handing its result to the next."""
    nodes = [node(f"{name}-{i}", kind, package, version) for i, kind in enumerate(types)]
    edges = [edge(f"{name}-{i}", f"{name}-{i + 1}") for i in range(len(types) - 1)]
    return workflow(name, nodes, edges)
