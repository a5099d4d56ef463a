"""A package of one adapter and a worker with it and with plain services, written by a test."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.integration.link.conftest import TOKEN, LinkServer
from tests.integration.link.test_our_worker import build
from windlass.testing.processes import Process, worker_process


def package(folder: Path, handlers: str, kinds: Sequence[str]) -> Path:
    """A package `kit` with a node for each kind, whose handler has its name."""
    adapters = folder / "kit" / "adapters"
    adapters.mkdir(parents=True)
    (adapters / "kit.py").write_text(handlers)
    adapter = {"name": "kit", "entrypoint": "kit", "capabilities": [f"kit.{k}" for k in kinds]}
    nodes = [
        {
            "type": f"kit.{kind}",
            "role": "node",
            "status": "published",
            "category": "Test",
            "label": kind,
            "adapter": "kit",
            "handler": kind,
            "schema": {"parameters": {"type": "object"}, "results": {"type": "object"}},
        }
        for kind in kinds
    ]
    manifest = {
        "schemaVersion": "1.0.0",
        "name": "kit",
        "version": "1.0.0",
        "description": "What a test is about.",
        "adapters": [{**adapter, "description": "All of it."}],
        "python": {"requires": ">=3.11"},
        "nodes": nodes,
    }
    (folder / "kit" / "manifest.json").write_text(json.dumps(manifest))
    return build(folder / "kit", folder / "kit.cwx")


def linked(server: LinkServer, folder: Path, services: str) -> Process:
    """A worker on the link with services that a module `worker` stands for."""
    (folder / "kit_services.py").write_text(services)
    return worker_process(
        "kit_services:worker",
        server.url,
        "link",
        *("--id", "w1", "--packages-dir", str(folder / "packages")),
        *("--data-dir", str(folder / "data")),
        path=[folder],
        token=TOKEN,
        log=folder / "worker.log",
    )
