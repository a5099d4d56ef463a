"""The browser package, in its own environment, with a real Chromium and a page of ours."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema_rs
import psutil
import pytest

from tests.integration.workbench import Workbench, workbench
from tests.packages import EXAMPLES, example
from windlass.protocol.packages.checks import read_manifest
from windlass.testing.processes import wait_until

CHROMIUM = Path("/usr/bin/chromium")
NAME, VERSION = "crawlerx_playwright", "2025.10.0"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium"),
]

PAGE = """<title>Log in</title>
<button id="login-button" onclick="document.title = 'Welcome'">Log in</button>
<button id="late" style="display: none">Late</button>
<script>setTimeout(() => { late.style.display = 'block' }, 300)</script>"""


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


async def call(bench: Workbench, kind: str, params: dict[str, Any], **more: Any) -> Any:
    """A node's results, which must be as its schema says."""
    known: dict[str, Any] = {"package": NAME, "version": VERSION, **more}
    found = await bench.result(f"playwright.{kind}", params, **known)
    text = await asyncio.to_thread((EXAMPLES / NAME / "manifest.json").read_bytes)
    node = read_manifest(text).node(f"playwright.{kind}")
    assert node is not None
    jsonschema_rs.validate(node.schema.results, found)
    return found


def chromiums(bench: Workbench) -> int:
    host = psutil.Process(bench.hosts.pid(NAME, VERSION))
    return sum(is_chromium(child) for child in host.children(recursive=True))


def is_chromium(process: psutil.Process) -> bool:
    try:
        return "chrom" in process.name()
    except psutil.NoSuchProcess:
        return False  # it has ended while they were counted


async def test_a_page_is_opened_clicked_and_closed_with_its_run(tmp_path: Path, url: str) -> None:
    async with workbench(tmp_path, resources={"gc_interval_s": 0.2}) as bench:
        installed = await bench.install(example(NAME), NAME, VERSION)
        assert (installed.folder / ".venv" / "bin" / "python").exists()

        opened = await call(bench, "open_page", {"url": url, "waitFor": "load"})
        page = opened["page"]
        assert (opened["done"], page["title"]) == (True, "Log in")
        assert set(page["resourceRef"]) >= {"resourceId", "workerId", "type"}

        clicked = await call(bench, "click", {"selector": "#login-button", "page": page})
        assert clicked["metadata"]["title"] == "Welcome"  # the same page, in another task

        params = {"selector": "#late", "waitFor": "visible", "button": "right", "delay": 10}
        found = await call(bench, "click", params, task_id="task-2")  # the run's page is found
        assert found["metadata"]["button"] == "right"
        for state in ("attached", "stable", "enabled"):
            await call(bench, "click", {"selector": "#late", "waitFor": state, "page": page})

        missing = await bench.call(
            "playwright.click",
            {"selector": "#nothing", "timeoutMs": 200, "page": page},
            package=NAME,
            version=VERSION,
        )
        assert missing.error is not None
        assert missing.error.code == "E.PLAYWRIGHT.TIMEOUT"

        assert bench.resources.stats().sessions_active == 1
        assert chromiums(bench) > 0
        bench.resources.release_scope("run-1")
        await asyncio.to_thread(wait_until, lambda: chromiums(bench) == 0)

        again = await call(bench, "open_page", {"url": url}, run_id="run-2")
        resource_id = again["page"]["resourceRef"]["resourceId"]
        bench.resources.touch(resource_id, 0.0)  # as if it had lain idle for too long
        await asyncio.to_thread(wait_until, lambda: chromiums(bench) == 0)


async def test_a_page_that_does_not_open_leaves_nothing_behind(tmp_path: Path, url: str) -> None:
    async with workbench(tmp_path) as bench:
        await bench.install(example(NAME), NAME, VERSION)
        outcome = await bench.call(
            "playwright.open_page", {"url": "http://127.0.0.1:1/"}, package=NAME, version=VERSION
        )
        assert outcome.error is not None
        assert outcome.error.code == "E.PLAYWRIGHT.NAVIGATION"
        await asyncio.to_thread(wait_until, lambda: chromiums(bench) == 0)
        assert bench.resources.list() == []
        await call(bench, "open_page", {"url": url})
        pids = [p.pid for p in psutil.Process(bench.hosts.pid(NAME, VERSION)).children(True)]
        await bench.manager.uninstall(NAME)
        await asyncio.to_thread(wait_until, lambda: not any(map(psutil.pid_exists, pids)))
        assert bench.traces() == []


def test_the_ports_are_those_of_the_workflow_that_uses_them() -> None:
    manifest = read_manifest((EXAMPLES / NAME / "manifest.json").read_bytes())
    ports = {
        node.type: [
            [port["key"] for port in node.ui[side]] for side in ("inputPorts", "outputPorts")
        ]
        for node in manifest.nodes
    }
    assert ports == {
        "playwright.open_page": [["trigger"], ["page", "done"]],
        "playwright.click": [["trigger", "page"], ["done"]],
    }
    assert manifest.python.dependencies == (f"playwright=={version('playwright')}",)
