"""A server nobody has used yet, and one that is gone: the page helps with both."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

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
