"""How the UI is reached: with a token, under a prefix, and when the server cannot act."""

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site
from windlass.server.ui import DIST
from windlass.testing.processes import ServerProcess, started, wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (DIST / "index.html").exists(), reason="the UI is not built: make ui"),
]

PREFIX = "/tools/windlass"


class StripPrefix(BaseHTTPRequestHandler):
    """A reverse proxy that serves another server below a prefix."""

    target = ""

    def do_GET(self) -> None:
        if not self.path.startswith(PREFIX + "/"):
            self.send_error(404)
            return
        self.pass_on(self.path.removeprefix(PREFIX))

    def pass_on(self, path: str) -> None:
        host = self.target.removeprefix("http://")
        upstream = http.client.HTTPConnection(host)
        headers = {key: value for key, value in self.headers.items() if key.lower() != "host"}
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else None
        upstream.request(self.command, path, body, {**headers, "Host": self.headers["Host"]})
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in ("transfer-encoding", "connection", "date", "server"):
                self.send_header(key, value)
        self.end_headers()
        while chunk := answer.read1(65_536):
            try:
                self.wfile.write(chunk)
            except OSError:
                break
        upstream.close()

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def below_prefix(site: Site) -> Iterator[str]:
    handler = type("Proxy", (StripPrefix,), {"target": site.url})
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{proxy.server_port}{PREFIX}"
    proxy.shutdown()
    proxy.server_close()


def test_it_works_below_any_prefix(site: Site, below_prefix: str, page: Page) -> None:
    site.push("prefixed", flows.wait_for("p"))
    run_id = site.start("prefixed")
    page.goto(f"{below_prefix}/runs/{run_id}")
    expect(page.locator("[data-link=live]")).to_be_visible()
    expect(page.locator("[data-node=hold]")).to_have_attribute("data-state", "waiting")
    page.get_by_role("navigation").get_by_role("link", name="Flows").click()
    expect(page.get_by_role("link", name="prefixed")).to_be_visible()
    assert page.url == f"{below_prefix}/flows"
    page.reload()
    expect(page.get_by_role("link", name="prefixed")).to_be_visible()


def test_a_server_with_tokens_asks_for_one(context: BrowserContext, tmp_path: Path) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", "open-sesame")
    with started(server):
        page = context.new_page()
        page.goto(f"{server.url}/runs")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Use the token").click()
        expect(page.get_by_role("alert")).to_contain_text("unknown")
        page.get_by_label("Token").fill("open-sesame")
        page.get_by_role("button", name="Use the token").click()
        expect(page.get_by_text("No runs yet")).to_be_visible()
        expect(page.locator("[data-link=live]")).to_be_visible()
        kept = page.evaluate("[localStorage.length, sessionStorage.getItem('windlass.token')]")
        assert kept[1] == "open-sesame"
        page.goto(f"{server.url}/settings?tab=tokens")
        page.get_by_label("Name").fill("crawlers")
        page.get_by_label("Role").select_option("worker")
        page.get_by_label("Only for worker").fill("crawler-*")
        page.get_by_role("button", name="Make a token").click()
        expect(page.get_by_role("listitem").filter(has_text="crawlers")).to_contain_text(
            "worker crawler-*"
        )
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()


def test_people_sign_in_by_name_and_stay_signed_in_over_a_reload(
    context: BrowserContext, tmp_path: Path
) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", "open-sesame")
    with started(server):
        person = {"username": "ada", "password": "correct horse battery", "roles": ["run.viewer"]}
        headers = {"Authorization": "Bearer open-sesame"}
        made = httpx.post(f"{server.url}/api/v1/users", json=person, headers=headers)
        assert made.status_code == 201, made.text
        page = context.new_page()
        page.goto(f"{server.url}/runs")
        page.get_by_label("User name").fill("ada")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("no such user and password")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("No runs yet")).to_be_visible()
        expect(page.locator("[data-link=live]")).to_be_visible()
        # A viewer is offered nothing the server would refuse.
        expect(page.get_by_role("button", name="New run")).to_have_count(0)
        page.reload()
        expect(page.get_by_text("No runs yet")).to_be_visible()


def test_without_a_control_plane_actions_are_off_and_reading_works(
    context: BrowserContext, tmp_path: Path
) -> None:
    db = f"sqlite:///{tmp_path / 'w.db'}"
    with started(whole := ServerProcess(db, "--no-auth")):
        site = Site(whole, whole)
        site.push("held", flows.wait_for("h"))
        run_id = site.start("held")
        site.http.close()
    with started(api := ServerProcess(db, "--no-auth", "--role", "api")):
        count = {"action": "cancel", "q": "status:queued", "dryRun": True}
        # The control plane that has just stopped is missed after a moment.
        wait_until(
            lambda: httpx.post(f"{api.url}/api/v1/runs/bulk", json=count).status_code == 503,
            timeout_s=60,
            every_s=0.5,
        )
        page = context.new_page()
        page.goto(f"{api.url}/runs/{run_id}")
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Actions are off")).to_be_visible()
        expect(page.get_by_role("button", name="Cancel")).to_be_disabled()
        expect(page.locator("[data-node=hold]")).to_have_attribute("data-state", "waiting")
