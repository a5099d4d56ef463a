"""What handlers are given: their call, its feedback, the chain, and the worker's resources."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.integration.handlers import tools
from tests.integration.workbench import WORKER, workbench
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.anyio


async def test_a_context_knows_its_call(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        found = await bench.result(
            "tools.about",
            task_id="a/../b",
            tenant="acme",
            metadata={"concurrency_key": "k"},
            host_node_id="h",
            middleware_chain=["m"],
            chain_index=0,
            affinity={"key": "a"},
        )
    assert found["made"]
    folder = Path(found.pop("data_dir"))
    assert folder.is_relative_to(tmp_path / "data" / "runs" / "run-1")
    assert (found["package_name"], found["package_version"]) == ("tools", "1.0.0")
    assert found["metadata"] == {"concurrency_key": "k", "affinity": {"key": "a"}}
    assert (found["tenant"], found["host_node_id"], found["middleware_chain"]) == (
        "acme",
        "h",
        ["m"],
    )


async def test_what_handlers_write_is_feedback_of_their_own_call(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        told: dict[str, list[dict[str, Any]]] = {word: [] for word in ("red", "blue")}

        async def say(word: str) -> None:
            invocation = bench.invocation("tools.say", {"word": word}, task_id=word)
            await bench.hosts.call(invocation, feedback=told[word].append)

        await asyncio.gather(*(say(word) for word in told))
    for word, bodies in told.items():
        chunks = [chunk for body in bodies for chunk in body["chunks"]]
        text = "".join(chunk["text"] for chunk in chunks)
        assert text.count(word) == 4
        assert {chunk["channel"] for chunk in chunks} == {"stdout", "stderr", "log"}
        assert not any(other in text for other in told if other != word)


async def test_feedback_and_next_work_from_threads(tmp_path: Path) -> None:
    async def go_on(fields: dict[str, Any]) -> dict[str, Any]:
        return {"asked": fields["payload"]}

    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        found = await bench.result("tools.threaded", chain_index=0, next_=go_on)
        assert found == {"chain": {"asked": {"n": 1}}}
        assert bench.texts("stdout") == "from False\n"
        assert bench.texts("log") == "now"
        assert {"message": "more", "metrics": {"a": 1}} in bench.feedback


async def test_a_chain_goes_on_through_whoever_called(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    async def go_on(fields: dict[str, Any]) -> dict[str, Any]:
        asked.append(fields)
        return {"call": len(asked)}

    async def fail(fields: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("next_timeout")

    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        found = await bench.result("tools.chain", next_=go_on)
        assert found == {"first": {"call": 1}, "second": {"call": 2}}
        assert asked[0]["middleware_ctx"] == {"i": 1}
        assert (await bench.result("tools.chain", next_=fail))["error"] == "next_timeout"
        assert (await bench.result("tools.chain"))["kind"] == "NextError"


async def test_objects_and_files_are_shared_between_tasks(tmp_path: Path) -> None:
    async with workbench(tmp_path, hosts={"environment": {"MARKS": str(tmp_path)}}) as bench:
        await bench.install(tools())
        outcome = await bench.call("tools.keep")
        made = msgspec.json.decode(outcome.result)
        assert made["object"]["workerId"] == WORKER
        [artifact] = outcome.artifacts
        assert (artifact["type"], artifact["size_bytes"]) == ("file", 5)
        ref = {"object": {"resourceRef": made["object"]}}
        for n in (2, 3):
            found = await bench.result("tools.use", ref)
            assert found["n"] == n
            assert found["leased"] == {made["object"]["resourceId"]: "thing"}
            assert sorted(found["in_use"]) == [0, 1]
        stats = bench.resources.stats()
        assert (stats.sessions_active, stats.disk_bytes_in_use, stats.handles) == (1, 5, 2)
        bench.resources.release_scope("run-1")
        await asyncio.to_thread(wait_until, (tmp_path / "closed").exists)
        gone = await bench.call("tools.use", ref)
        assert gone.error is not None
        assert gone.error.code == "E.RESOURCE.MISSING"


async def test_a_resource_of_another_worker_is_not_guessed_at(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        refs = [{"resource_id": "a", "worker_id": "w-2", "type": "file"}]
        outcome = await bench.call("tools.run", resource_refs=refs)
        assert outcome.error is not None
        assert outcome.error.code == "E.RESOURCE.MISSING"
        assert 'on worker "w-2"' in outcome.error.message


async def test_objects_are_gone_with_their_host_and_files_stay(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        made = await bench.result("tools.keep")
        await bench.call("tools.crash")
        outcome = await bench.call("tools.use", {"object": {"resourceRef": made["object"]}})
        assert outcome.error is not None
        assert outcome.error.code == "E.RESOURCE.MISSING"
    async with workbench(tmp_path) as bench:  # a new worker in the same place
        refs = [{"resource_id": made["file"]["resourceId"], "worker_id": WORKER, "type": "file"}]
        assert await bench.result("tools.run", resource_refs=refs) == {"got": {}}


async def test_a_large_result_travels_by_reference(tmp_path: Path) -> None:
    async with workbench(tmp_path, resources={"inline_limit_bytes": 1000}) as bench:
        await bench.install(tools())
        assert await bench.result("tools.large", {"size": 900}) == {"text": "x" * 900}
        outcome = await bench.call("tools.large", {"size": 5_000_000})
        ref = msgspec.json.decode(outcome.result)["resourceRef"]
        [artifact] = outcome.artifacts
        assert artifact["resource_id"] == ref["resourceId"]
        assert artifact["inline"] is False
        handle = bench.resources.get(ref["resourceId"])
        assert handle.path is not None
        text = await asyncio.to_thread(Path(handle.path).read_text)
        assert json.loads(text) == {"text": "x" * 5_000_000}
