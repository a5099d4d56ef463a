"""Workflows the browser tests run: nodes of the example package, named in plain words."""

from typing import Any
from uuid import UUID, uuid5

_NAMES = UUID("5c1b7a52-6a0e-4b2f-9c55-2f6f8b7f1d00")

Json = dict[str, Any]


def uuid(name: str) -> str:
    return str(uuid5(_NAMES, name))


def node(key: str, type_: str, label: str, **parameters: Any) -> Json:
    return {
        "id": uuid(key),
        "type": type_,
        "package": {"name": "text_tools", "version": "1.0.0"},
        "label": label,
        "parameters": parameters,
    }


def wire(source: str, port: str, target: str, to: str, **more: Any) -> Json:
    return {
        "id": uuid(f"{source}-{target}"),
        "source": {"node": uuid(source), "port": port},
        "target": {"node": uuid(target), "port": to},
        **more,
    }


def port(key: str, path: str, inner: str) -> Json:
    """A port of a container that reaches a node inside it."""
    binding = {"path": path, "mode": "write", "prefix": f"#{uuid(inner)}"}
    return {"key": key, "label": "Text", "binding": binding}


def article(name: str, seconds: float = 0.5) -> Json:
    """A draft, a container that polishes it, a branch that is not taken, and something slow."""
    inside = {
        "id": uuid(f"{name} inside"),
        "schemaVersion": "2025-10",
        "metadata": {"name": "Polish"},
        "nodes": [
            node(f"{name} shout", "text.upper", "Shout", text=""),
            node(f"{name} say", "text.echo", "Say it"),
        ],
        "edges": [wire(f"{name} shout", "text", f"{name} say", "message")],
    }
    box = {
        "id": uuid(f"{name} box"),
        "type": "workflow.container",
        "label": "Polish the text",
        "parameters": {"__container": {"subgraphId": uuid(f"{name} inside")}},
        "ui": {
            "inputPorts": [port("text", "parameters.text", f"{name} shout")],
            "outputPorts": [port("text", "results.echo", f"{name} say")],
        },
    }
    no = {"path": "results.echo", "equals": "goodbye"}
    return {
        "id": uuid(name),
        "schemaVersion": "2025-10",
        "metadata": {"name": name},
        "nodes": [
            node(f"{name} draft", "text.echo", "Draft", message="hello world"),
            node(f"{name} slow", "text.slow", "Review time", seconds=seconds),
            box,
            node(f"{name} publish", "text.echo", "Publish"),
            node(f"{name} archive", "text.echo", "Archive instead"),
        ],
        "edges": [
            wire(f"{name} draft", "echo", f"{name} box", "text"),
            wire(f"{name} box", "text", f"{name} publish", "message"),
            wire(f"{name} draft", "echo", f"{name} archive", "message", condition=no),
        ],
        "subgraphs": [{"id": uuid(f"{name} inside"), "definition": inside}],
    }
