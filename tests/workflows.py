"""Workflows for tests: small definitions made from short names."""

from typing import Any
from uuid import UUID, uuid5

_NAMES = UUID("6f0a5f5e-64c5-4f0f-9a3c-2f3d0c1b7a10")
PACKAGE = {"name": "kit", "version": "1.0.0"}


def uid(name: str) -> str:
    """The UUID a short name stands for."""
    return str(uuid5(_NAMES, name))


def port(key: str, path: str, **extra: Any) -> dict[str, Any]:
    return {"key": key, "label": key, "binding": {"path": path, "mode": "two_way", **extra}}


def node(name: str, **fields: Any) -> dict[str, Any]:
    """A node with the ports `in` (parameters.x), `out` (results.y) and `all` (results)."""
    ui = {
        "inputPorts": [port("in", "parameters.x"), port("also", "parameters.z")],
        "outputPorts": [port("out", "results.y"), port("all", "results")],
    }
    made = {
        "id": uid(name),
        "type": f"kit.{name}",
        "package": PACKAGE,
        "label": name,
        "position": {"x": 0, "y": 0},
        "parameters": {},
        "results": {},
        "ui": ui,
    }
    return {**made, **fields}


def edge(source: str, target: str, ports: str = "out>in", **fields: Any) -> dict[str, Any]:
    """An edge between nodes by their short names; `ports` names the two ports."""
    left, _, right = ports.partition(">")
    return {
        "id": f"{source}-{target}-{ports}",
        "source": {"node": uid(source), "port": left},
        "target": {"node": uid(target), "port": right},
        **fields,
    }


def workflow(nodes: list[Any], edges: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "id": uid("workflow"),
        "schemaVersion": "2025-10",
        "metadata": {"name": "test"},
        "nodes": nodes,
        "edges": edges or [],
        **fields,
    }


def container(name: str, subgraph: str, **fields: Any) -> dict[str, Any]:
    """A container; `inside` adds to what is said of the graph in it."""
    inside = fields.pop("inside", {})
    parameters = {"__container": {"subgraphId": subgraph, **inside}, **fields.pop("parameters", {})}
    ui = fields.pop("ui", {})
    return {
        "id": uid(name),
        "type": "workflow.container",
        "label": name,
        "role": "container",
        "parameters": parameters,
        "ui": ui,
        **fields,
    }


def subgraph(key: str, nodes: list[Any], edges: list[Any] | None = None) -> dict[str, Any]:
    return {"id": key, "definition": workflow(nodes, edges), "metadata": {"label": f"graph {key}"}}
