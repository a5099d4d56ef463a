"""A server nobody has used yet, and one that is gone: the page helps with both."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site
from windlass.server.ui import DIST
from windlass.testing.processes import Process, ServerProcess, started, wait_until

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


def type_in(command: str, url: str) -> None:
    """Do what the page says, in the checkout, as a newcomer would."""
    words = shlex.split(command)
    assert words[0] == "windlass"
    env = {**os.environ, "WINDLASS_URL": url}
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_steps_work_as_they_are_shown(context: BrowserContext, tmp_path: Path) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--no-auth")
    with started(server):
        page = context.new_page()
        page.goto(server.url)
        online = page.get_by_role("link", name="Workers online")
        expect(online).to_contain_text("0/0")
        steps = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Copy"))
        expect(steps).to_have_count(3)
        connect, push, start = steps.locator("code").all_inner_texts()
        worker = Process(*shlex.split(connect)[1:])
        with started(worker):
            expect(online).to_contain_text("1/1")
            expect(steps.first.locator("[data-done=true]")).to_be_visible()
            type_in(push, server.url)
            type_in(start, server.url)
            page.get_by_role("navigation").get_by_role("link", name="Workers").click()
            expect(page.get_by_text("1 online")).to_be_visible()
            page.go_back()
            expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
            page.goto(f"{server.url}/runs")
            page.locator("[data-run]").get_by_role("link").first.click()
            expect(page.get_by_role("button", name="Rerun")).to_be_enabled()
        without_a_server(page, server)


def without_a_server(page: Page, server: ServerProcess) -> None:
    """Every page is still ours, says what is wrong, and offers nothing that cannot be done."""
    seen = "performance.getEntriesByType('resource').some((one) => one.name.includes('/timeline-'))"
    wait_until(lambda: page.evaluate(seen))
    server.stop()
    expect(page.get_by_text("Actions are off")).to_be_visible()
    expect(page.get_by_role("button", name="Rerun")).to_be_disabled()
    for name in ("Timeline", "List", "Graph"):
        page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator("[data-node=shout]")).to_be_visible()
    for name in ("Flows", "Workers", "Packages", "Settings"):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


PLACES = (
    *("Overview", "Runs", "Inbox", "Flows", "Packages", "Workers", "Environments", "Pods"),
    *("Limits", "Dead letters", "Settings"),
)


def ours(page: Page, server: ServerProcess) -> None:
    """Neither the browser's own page nor a blank one, and nothing that could not be loaded."""
    assert page.url.startswith(server.url)
    expect(page.get_by_text("Actions are off")).to_be_visible()
    expect(page.get_by_role("main").get_by_text(re.compile(r"\w"))).not_to_have_count(0)
    expect(page.get_by_text("This page could not be loaded")).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_every_page_is_ours_though_it_is_opened_after_the_server_has_stopped(
    context: BrowserContext, tmp_path: Path
) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--no-auth")
    with started(server):
        site = Site(server, server)
        site.push("unseen", flows.asking("Unseen?", 86_400_000))
        run_id = site.start("unseen")
        site.wait(run_id, "waiting")
        site.http.close()
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.url}/runs")
        row = page.locator(f"[data-run='{run_id}']")
        expect(row).to_be_visible()
        # All there is to fetch is fetched while nobody needs it.
        files = (DIST / "assets").glob("*.js")
        # The worker that tabs share is listed by none of them.
        parts = [file.name for file in files if not file.name.startswith("stream.worker-")]
        there = "performance.getEntriesByType('resource').map((one) => one.name).join()"
        wait_until(lambda: all(part in page.evaluate(there) for part in parts))
        server.stop()
        for name in PLACES:
            page.get_by_role("navigation").get_by_role("link", name=name).first.click()
            expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
            ours(page, server)
        page.get_by_role("navigation").get_by_role("link", name="Runs").click()
        row.get_by_role("link").first.click()
        page.wait_for_url(f"**/runs/{run_id}*")
        ours(page, server)
        assert not errors
