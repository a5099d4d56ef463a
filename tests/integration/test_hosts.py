"""Hosts: handlers of packages run apart from each other and from the worker, and end with it."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.integration.handlers import tools
from tests.integration.workbench import workbench
from tests.packages import ROOT, archive, example
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.anyio


async def test_handlers_see_what_their_package_brings_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    spy = "try:\n    import windlass\nexcept ImportError:\n    windlass = None\n"
    code = spy + "async def run(ctx):\n    return {'windlass': windlass is not None}\n"
    async with workbench(tmp_path) as bench:
        await bench.install(archive(code))
        assert await bench.result() == {"windlass": False}
        await bench.install(tools(version="2.0.0"), version="2.0.0")
        found = await bench.result("tools.who", version="2.0.0")
    assert "secret" not in json.dumps(found)
    assert str(ROOT) not in found["path"]
    assert not any("site-packages" in path for path in found["path"])


async def test_the_workers_own_packages_are_there_only_if_the_operator_says_so(
    tmp_path: Path,
) -> None:
    code = "import msgspec\nasync def run(ctx):\n    return {'name': msgspec.__name__}\n"
    async with workbench(tmp_path, site_packages=True) as bench:
        await bench.install(archive(code))
        assert await bench.result() == {"name": "msgspec"}


async def test_packages_with_the_same_module_names_never_share_them(tmp_path: Path) -> None:
    code = "import helper\nasync def run(ctx):\n    return {'says': helper.SAYS}\n"
    async with workbench(tmp_path) as bench:
        for name, version in (("one", "1.0.0"), ("two", "1.0.0"), ("one", "2.0.0")):
            files = {"adapters/helper.py": f"SAYS = '{name} {version}'\n"}
            await bench.install(archive(code, files, name=name, version=version), name, version)
        for name, version in (("one", "1.0.0"), ("two", "1.0.0"), ("one", "2.0.0")):
            found = await bench.result(package=name, version=version)
            assert found == {"says": f"{name} {version}"}


async def test_a_crash_takes_its_own_calls_and_no_others(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        await bench.install(tools(name="other"), "other")
        mine = asyncio.create_task(bench.call("tools.sleep"))
        theirs = asyncio.create_task(bench.call("tools.sleep", {"seconds": 1}, package="other"))
        await bench.result("tools.run")
        await bench.result("tools.run", package="other")
        crashed = await bench.call("tools.crash")
        for outcome in (crashed, await mine):
            assert outcome.status == "FAILED"
            assert outcome.error is not None
            assert outcome.error.code == "E.DISPATCH.UNAVAILABLE"
            assert "ended while the task was in it" in outcome.error.message
            assert outcome.lost  # nobody knows which of them it was
        assert (await theirs).status == "SUCCEEDED"
        assert await bench.result("tools.run", {"a": 1}) == {"got": {"a": 1}}


async def test_a_package_that_always_crashes_is_started_more_and_more_slowly(
    tmp_path: Path,
) -> None:
    async with workbench(tmp_path, hosts={"backoff_s": 0.1}) as bench:
        await bench.install(tools())
        began = time.monotonic()
        for _ in range(4):
            crashed = await bench.call("tools.crash")
            assert not crashed.lost  # there was nobody else in it to blame
            assert crashed.error is not None
            assert crashed.error.code == "E.RUNNER.FAILURE"
        assert time.monotonic() - began > 0.1 + 0.2 + 0.4


async def test_cancelling_reaches_an_async_handler_both_ways(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        waiting = asyncio.create_task(bench.call("tools.sleep", task_id="a"))
        dropped = asyncio.create_task(bench.call("tools.sleep", task_id="b"))
        await bench.result()
        assert bench.cancel("a")
        outcome = await waiting
        assert outcome.status == "CANCELLED"
        assert outcome.error is not None
        assert outcome.error.code == "E.RUNNER.CANCELLED"
        pid = bench.hosts.pid("tools", "1.0.0")
        dropped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropped
        await bench.result()
        await asyncio.sleep(0.7)  # longer than the grace: the host had no reason to go
        assert bench.hosts.load == 0
        assert bench.hosts.pid("tools", "1.0.0") == pid


async def test_a_handler_in_a_thread_is_told_and_stops_by_itself(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        mark = tmp_path / "mark"
        waiting = asyncio.create_task(bench.call("tools.polite", {"mark": str(mark)}))
        await asyncio.to_thread(wait_until, mark.exists)
        pid = bench.hosts.pid("tools", "1.0.0")
        bench.cancel("task-1")
        assert (await waiting).status == "CANCELLED"
        await bench.result()
        assert bench.hosts.pid("tools", "1.0.0") == pid


@pytest.mark.parametrize("kind", ["stuck", "stubborn"])
async def test_a_host_with_nothing_but_a_stuck_call_is_ended(tmp_path: Path, kind: str) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        mark = tmp_path / "mark"
        waiting = asyncio.create_task(bench.call(f"tools.{kind}", {"mark": str(mark)}))
        await bench.result()
        pid = bench.hosts.pid("tools", "1.0.0")
        bench.cancel("task-1")
        assert (await waiting).status == "CANCELLED"
        await asyncio.to_thread(wait_until, lambda: not psutil.pid_exists(pid))
        await bench.result()


async def test_a_host_with_other_calls_outlives_a_stuck_one(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        mark = tmp_path / "mark"
        stuck = asyncio.create_task(bench.call("tools.stuck", {"mark": str(mark)}, task_id="a"))
        other = asyncio.create_task(bench.call("tools.sleep", {"seconds": 1.5}, task_id="b"))
        await asyncio.to_thread(wait_until, mark.exists)
        pid = bench.hosts.pid("tools", "1.0.0")
        bench.cancel("a")
        assert (await stuck).status == "CANCELLED"
        assert (await other).status == "SUCCEEDED"
        await asyncio.to_thread(wait_until, lambda: not psutil.pid_exists(pid))


async def test_a_task_that_runs_out_of_time_fails(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        await bench.result()
        for kind in ("sleep", "stuck"):
            began = time.monotonic()
            params = {"mark": str(tmp_path / "mark")}
            outcome = await bench.call(f"tools.{kind}", params, timeout_ms=100)
            assert (outcome.status, time.monotonic() - began < 2) == ("FAILED", True)
            assert outcome.error is not None
            assert outcome.error.code == "E.TIMEOUT"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("1", "returned int"),
        ("None", "returned NoneType"),
        ("{'a': object()}", "cannot be sent as JSON"),
        ("{'a': float('nan')}", "cannot be sent as JSON"),
        ("{'a': chr(0xd800)}", "cannot be sent as JSON"),
        ("{'metadata': 1}", "metadata that is no dict"),
        ("{'artifacts': ['a']}", "artifacts that are none"),
        ("deep(1100)", "cannot be"),
        ("{'status': 'perhaps'}", 'the status "PERHAPS"'),
        ("1 / 0", "ZeroDivisionError"),
        ("sys.exit(1)", "SystemExit"),
    ],
)
async def test_what_cannot_be_a_result_is_a_failure_in_words(
    tmp_path: Path, value: str, words: str
) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        outcome = await bench.call("tools.odd", {"value": value})
        assert outcome.status == "FAILED"
        assert outcome.error is not None
        assert outcome.error.code == "E.RUNNER.FAILURE"
        assert words in outcome.error.message
        assert await bench.result() == {"got": {}}


async def test_parameters_nested_without_reason_do_not_reach_a_host(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        deep: Any = {}
        for _ in range(300):
            deep = {"a": deep}
        outcome = await bench.call(params=deep)
        assert outcome.error is not None
        assert "nested deeper" in outcome.error.message


async def test_a_host_ends_with_its_worker_however_that_ends(tmp_path: Path) -> None:
    (tmp_path / "tools.cwx").write_bytes(tools())
    script = f"""
import asyncio
from pathlib import Path
from tests.integration.workbench import workbench
async def main():
    async with workbench(Path({str(tmp_path)!r})) as bench:
        await bench.manager.install("tools", "1.0.0", {str(tmp_path / "tools.cwx")!r})
        asyncio.ensure_future(bench.call("tools.stuck", {{"mark": {str(tmp_path / "m")!r}}}))
        await bench.result()
        print(bench.hosts.pid("tools", "1.0.0"), flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert worker.stdout is not None
    pid = int(await worker.stdout.readline())
    assert psutil.pid_exists(pid)
    os.kill(worker.pid, signal.SIGKILL)
    await worker.wait()
    await asyncio.to_thread(wait_until, lambda: not psutil.pid_exists(pid))


async def test_the_example_runs_both_functions_and_classes(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(example("text_tools"), "text_tools")

        async def call(kind: str, params: dict[str, Any]) -> Any:
            return await bench.call(f"text.{kind}", params, package="text_tools")

        echoed = await call("echo", {"message": "hi"})
        assert msgspec.json.decode(echoed.result) == {"echo": "hi"}
        raised = await call("upper", {"text": "abc"})
        assert msgspec.json.decode(raised.result) == {"text": "ABC"}
        failed = await call("fail", {"reason": "no"})
        assert (failed.status, failed.error.code, failed.error.message) == (
            "FAILED",
            "E.TEXT.FAIL",
            "no",
        )
        raised = await call("fail", {"how": "raise"})
        trace = raised.error.details["traceback"]
        assert "text_functions.py" in trace
        assert "windlass" not in trace
        assert (await call("slow", {"seconds": 0})).status == "SUCCEEDED"
        await call("feedback", {"text": "a b"})
        assert bench.texts("llm") == "ab"
        counts = [msgspec.json.decode((await call("count", {})).result) for _ in range(2)]
        assert counts == [{"calls": 1}, {"calls": 2}]


async def test_a_host_takes_thousands_of_calls_a_second(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        await bench.result()
        left = iter(range(4000))

        async def lane() -> None:
            for _ in left:
                await bench.call()

        began = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(64)))
        rate = 4000 / (time.perf_counter() - began)
        assert rate > 1500, f"{rate:.0f} calls/s"  # many times this on an idle machine


async def test_a_call_that_waits_for_its_host_can_be_cancelled(tmp_path: Path) -> None:
    async with workbench(tmp_path, hosts={"backoff_s": 30}) as bench:
        await bench.install(tools())
        await bench.call("tools.crash")
        waiting = asyncio.create_task(bench.call(task_id="a"))
        await asyncio.sleep(0.1)
        assert bench.cancel("a")
        assert (await waiting).status == "CANCELLED"


async def test_a_package_is_removed_when_what_runs_in_it_has_ended(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(tools())
        running = asyncio.create_task(bench.call("tools.sleep", {"seconds": 0.5}))
        await bench.result()
        removing = asyncio.create_task(bench.manager.uninstall("tools", "1.0.0"))
        await asyncio.sleep(0.05)
        refused = await bench.call()
        assert refused.error is not None
        assert refused.error.code == "E.CMD.UNKNOWN"
        assert (await running).status == "SUCCEEDED"
        assert await removing == ["1.0.0"]


async def test_a_host_that_does_not_start_says_nothing_against_the_work(tmp_path: Path) -> None:
    async with workbench(tmp_path, hosts={"start_s": 0.01}) as bench:
        await bench.install(tools())
        assert (await bench.call()).lost


async def test_a_removed_package_loses_what_does_not_end_in_time(tmp_path: Path) -> None:
    async with workbench(tmp_path, hosts={"drain_s": 0.1}) as bench:
        await bench.install(tools())
        running = asyncio.create_task(bench.call("tools.sleep"))
        await bench.result()
        pid = bench.hosts.pid("tools", "1.0.0")
        await bench.manager.uninstall("tools", "1.0.0")
        outcome = await running
        assert outcome.lost
        assert outcome.error is not None
        assert "is being removed" in outcome.error.message
        assert not psutil.pid_exists(pid)
