"""The link's own workload: two-node workflows of a package, through one worker on the link."""

import asyncio
import time
from typing import Any

from windlass.protocol.packages.archive import build
from windlass.testing.bench.served import Served

NAME, VERSION, TYPE = "bench_tools", "1.0.0", "bench.noop"
_FIRST = "11111111-1111-4111-8111-111111111111"
_SECOND = "22222222-2222-4222-8222-222222222222"
_CLIENTS = 16

MANIFEST = """{
  "schemaVersion": "1.0.0", "name": "bench_tools", "version": "1.0.0", "description": "Nothing.",
  "adapters": [{"name": "noop", "entrypoint": "noop", "capabilities": ["bench.noop"]}],
  "python": {"requires": ">=3.11"},
  "nodes": [{"type": "bench.noop", "status": "published", "category": "Bench", "label": "Noop",
    "adapter": "noop", "handler": "noop",
    "schema": {"parameters": {"type": "object"}, "results": {"type": "object"}},
    "ui": {
      "inputPorts": [{"key": "in", "label": "In", "binding": {"path": "parameters.in"}}],
      "outputPorts": [{"key": "out", "label": "Out", "binding": {"path": "results.out"}}]}}]
}"""
HANDLER = """async def noop(ctx):
    return {"status": "succeeded", "outputs": {"out": {"ok": True}}}
"""


def archive() -> bytes:
    files = [("manifest.json", MANIFEST.encode()), ("adapters/noop.py", HANDLER.encode())]
    return build(files)


def workflow() -> dict[str, Any]:
    """Two nodes, the second of which gets the first one's result."""
    package = {"name": NAME, "version": VERSION}
    place = {"position": {"x": 0, "y": 0}, "label": "Noop", "package": package, "type": TYPE}
    return {
        "id": "33333333-3333-4333-8333-333333333333",
        "schemaVersion": "2025-10",
        "metadata": {"name": "bench"},
        "nodes": [{"id": _FIRST, **place}, {"id": _SECOND, **place}],
        "edges": [
            {
                "id": "44444444-4444-4444-8444-444444444444",
                "source": {"node": _FIRST, "port": "out"},
                "target": {"node": _SECOND, "port": "in"},
            }
        ],
    }


async def w8(system: Served, count: int = 1000) -> dict[str, float]:
    """`count` runs of two dispatches each, every result committed before the next is sent."""
    body = {"workflow": workflow(), "clientId": "bench"}
    await system.send("POST", "/api/v1/published-packages", archive())
    await ended(system, await started(system, body))
    idle = await idle_times(system, body)
    before = await system.count("succeeded")
    cpu, began = system.cpu_s(), time.perf_counter()
    numbers = iter(range(count))

    async def client() -> None:
        for _ in numbers:
            await started(system, body)

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    while await system.count("succeeded") - before < count:
        await asyncio.sleep(0.02)
    seconds = time.perf_counter() - began
    spent = {name: value - cpu[name] for name, value in system.cpu_s().items()}
    return {
        "dispatches_s": 2 * count / seconds,
        "tasks_s": 2 * count / seconds,
        "p50_ms": idle,
        **{f"{name}_cpu_us_task": value / count / 2 * 1e6 for name, value in spent.items()},
    }


async def started(system: Served, body: dict[str, Any]) -> str:
    answer = await system.call("POST", "/api/v1/runs", body)
    return str(answer["runId"])


async def ended(system: Served, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = await system.call("GET", f"/api/v1/runs/{run_id}?waitMs=60000")
    if run["status"] != "succeeded":
        raise RuntimeError(f"run {run_id}: {run}")
    return run


async def idle_times(system: Served, body: dict[str, Any], count: int = 50) -> float:
    """From dispatch to result on an idle system, as the server measures it: the median."""
    for _ in range(count):
        await ended(system, await started(system, body))
    text = await system.call("GET", "/metrics")
    buckets: list[tuple[float, int]] = []
    for line in text.splitlines():
        if line.startswith("result_latency_ms_bucket") and f'node_type="{TYPE}"' in line:
            bound = line.split('le="')[1].split('"')[0]
            buckets.append((float(bound), int(line.rpartition(" ")[2])))
    half = buckets[-1][1] / 2
    return next(bound for bound, seen in buckets if seen >= half)
