"""A real server on SQLite with the built UI, and Debian's Chromium to look at it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from windlass.server.ui import DIST
from windlass.testing.processes import Process, ServerProcess, started, wait_until, worker_process

PACKAGES = Path(__file__).parents[2] / "examples" / "packages"
CHROMIUM = Path("/usr/bin/chromium")
ARGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


class Site:
    """A served UI, a worker that can be killed, and the API beside it."""

    def __init__(self, server: ServerProcess, worker: Process) -> None:
        self.server = server
        self.worker = worker
        self.http = httpx.Client(base_url=server.url, timeout=60)

    @property
    def url(self) -> str:
        return self.server.url

    def push(self, name: str, definition: object) -> None:
        answer = self.http.post(f"/api/v1/flows/{name}/versions", json={"definition": definition})
        assert answer.status_code in (200, 201), answer.text

    def start(self, flow: str, params: dict[str, object] | None = None, **more: object) -> str:
        body = {"flow": flow, "params": params or {}, **more}
        answer = self.http.post("/api/v1/runs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        headers = {"Accept": "application/vnd.windlass+json"}
        found: dict[str, Any] = self.http.get(f"/api/v1/runs/{run_id}", headers=headers).json()
        return found

    def wait(self, run_id: str, state: str) -> None:
        wait_until(lambda: self.run(run_id)["state"] == state)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip("no /usr/bin/chromium; make setup-tests installs it")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), chromium_sandbox=False, args=ARGS
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server without tokens, as `windlass dev` runs it, with a worker of its own."""
    if not (DIST / "index.html").exists():
        pytest.skip("the UI is not built; make ui builds it")
    folder = tmp_path_factory.mktemp("site")
    log = folder / "processes.log"
    server = ServerProcess(
        *(f"sqlite:///{folder / 'windlass.db'}", "--no-auth", "--env-noop", "--lease-s", "3"),
        log=log,
    )
    worker = worker_process("builtin", server.url, "pull", "--id", "w-one", log=log)
    with started(server):
        worker.start()
        found = Site(server, worker)
        wait_until(lambda: found.http.get("/api/v1/workers").json()["items"])
        yield found
        if worker.alive:
            worker.stop()
        found.http.close()


class Fleet:
    """Workers on the link, and archives for them in two versions."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self._folder = folder
        self.old = self.archive("1.0.0")
        self.new = self.archive("1.1.0")
        self.workers = {name: self.worker(name) for name in ("link-a", "link-b")}

    def archive(self, version: str) -> Path:
        """The example package under a version."""
        source, out = self._folder / version, self._folder / f"text_tools-{version}.cwx"
        shutil.copytree(PACKAGES / "text_tools", source)
        manifest = json.loads((source / "manifest.json").read_text())
        manifest["version"] = version
        (source / "manifest.json").write_text(json.dumps(manifest))
        command = [sys.executable, "-m", "windlass", "pkg", "build", str(source), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        return out

    def worker(self, name: str) -> Process:
        own = self._folder / name
        folders = ("--packages-dir", str(own / "packages"), "--data-dir", str(own / "data"))
        link = ("--transport", "link", "--server", self.site.url, "--token", "any")
        return Process(
            *("worker", "packages", *link, "--id", name, *folders),
            env={
                "ASTRA_WORKER_HEARTBEAT_INTERVAL_SECONDS": "1",
                "ASTRA_WORKER_HEARTBEAT_JITTER_SECONDS": "0.1",
            },
            log=self._folder / f"{name}.log",
        )

    def publish(self, archive: Path) -> None:
        answer = self.site.http.post(
            "/api/v1/published-packages",
            content=archive.read_bytes(),
            headers={"Content-Type": "application/zip"},
        )
        assert answer.status_code in (200, 201), answer.text

    def start(self, workflow: dict[str, Any]) -> str:
        body = {"workflow": workflow, "clientId": "tests"}
        answer = self.site.http.post("/api/v1/runs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["runId"])

    def get(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.site.http.get(f"/api/v1/workers/{name}").json()
        return found

    def wait(self, name: str, state: str) -> None:
        wait_until(lambda: self.get(name).get("state") == state)

    def restart(self, name: str) -> None:
        self.workers[name].stop()
        self.wait(name, "offline")
        self.workers[name].start()
        self.wait(name, "online")


@pytest.fixture(scope="session")
def fleet(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    found = Fleet(site, tmp_path_factory.mktemp("fleet"))
    with started(*found.workers.values()):
        for name in found.workers:
            found.wait(name, "online")
        yield found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(
        viewport={"width": 1440, "height": 900}, locale="en-GB", timezone_id="UTC"
    )
    made.set_default_timeout(15_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails its test when the console shows an error the test did not ask for."""
    made = context.new_page()
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    yield made
    assert not errors, errors
