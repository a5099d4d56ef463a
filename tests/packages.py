"""Packages for tests: small ones written on the spot, and the examples."""

import json
from pathlib import Path
from typing import Any

from windlass.cli.packing import pack
from windlass.protocol.packages.archive import build

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "packages"
UV = ROOT / ".bootstrap" / "bin" / "uv"


def manifest(name: str = "tools", version: str = "1.0.0", **changes: Any) -> dict[str, Any]:
    """A manifest in the newer form with one node, `tools.run`, handled by `tools_main:run`."""
    found: dict[str, Any] = {
        "schemaVersion": "1.0.0",
        "name": name,
        "version": version,
        "description": "For a test.",
        "adapters": [{"name": "main", "entrypoint": "tools_main", "capabilities": ["tools.run"]}],
        "python": {"requires": ">=3.11"},
        "nodes": [
            {
                "type": "tools.run",
                "status": "published",
                "category": "Test",
                "label": "Run",
                "adapter": "main",
                "handler": "run",
                "schema": {"parameters": {"type": "object"}, "results": {"type": "object"}},
            }
        ],
    }
    found.update(changes)
    return found


def archive(
    code: str = "async def run(ctx):\n    return {'got': ctx.params}\n",
    files: dict[str, str] | None = None,
    nodes: tuple[str, ...] = ("run",),
    **changes: Any,
) -> bytes:
    """An archive whose module `tools_main` is `code`, with a node for each handler named."""
    whole = manifest(**changes)
    if "nodes" not in changes:
        first = whole["nodes"][0]
        whole["nodes"] = [{**first, "type": f"tools.{n}", "handler": n} for n in nodes]
    found = {"manifest.json": json.dumps(whole), "adapters/tools_main.py": code, **(files or {})}
    return build((name, text.encode()) for name, text in found.items())


def example(name: str) -> bytes:
    return pack(EXAMPLES / name)[1]
