"""Runs of workflows: nodes by their labels, containers as groups, and a run that is moved."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser import workflows
from tests.browser.conftest import Fleet, Site
from tests.browser.workflows import uuid
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.browser


def card(page: Page, key: str) -> str:
    return f"[data-node='{uuid(key)}']"


def has(fleet: Fleet, name: str) -> bool:
    wanted = {"name": "text_tools", "version": "1.0.0", "status": "installed"}
    return wanted in fleet.get(name)["packages"]


def test_a_workflow_is_watched_by_labels_with_its_container_and_its_skipped_branch(
    site: Site, fleet: Fleet, page: Page
) -> None:
    fleet.publish(fleet.old)
    run_id = fleet.start(workflows.article("Article", seconds=8))
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.locator(card(page, "Article slow"))).to_have_attribute("data-state", "running")
    # The draft runs beside it and is named first while it does.
    draft = page.locator(card(page, "Article draft"))
    expect(draft).to_have_attribute("data-state", "succeeded")
    expect(page.locator("[data-why]")).to_contain_text('"Review time" runs on link-')
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible(timeout=15_000)
    expect(draft).to_contain_text("text_tools@1.0.0")
    box, inner = uuid("Article box"), uuid("Article shout")
    expect(page.locator(f"[data-node='{box}']")).to_contain_text("Polish the text")
    expect(page.locator(f"[data-node='{box}/{inner}']")).to_contain_text("Shout")
    # Ports have names on the cards, and edges end at the card they lead to.
    expect(page.locator(f"[data-node='{box}/{inner}'] [data-port-mark]")).not_to_have_count(0)
    skipped = page.locator(card(page, "Article archive"))
    expect(skipped).to_have_attribute("data-state", "skipped")
    expect(skipped).to_contain_text("skipped")
    page.locator(card(page, "Article publish")).get_by_role("button", name="Publish").click()
    page.get_by_role("button", name="Input / output").click()
    expect(page.locator("[data-port=message]")).to_contain_text("HELLO WORLD")
    expect(page.locator("[data-port=echo]")).to_contain_text("HELLO WORLD")
    page.get_by_role("button", name="List", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="Say it")).to_be_visible()
    page.get_by_role("button", name="Events").click()
    expect(page.get_by_role("log")).to_contain_text("Draft")
    assert uuid("Article draft") not in page.get_by_role("log").inner_text()


def test_a_workflow_is_started_from_its_page(site: Site, fleet: Fleet, page: Page) -> None:
    fleet.publish(fleet.old)
    first = fleet.start(workflows.article("Startable"))
    site.wait(first, "succeeded")
    page.goto(f"{site.url}/flows")
    page.get_by_role("link", name="Startable").first.click()
    expect(page.get_by_role("heading", name="Startable")).to_be_visible()
    expect(page.locator(card(page, "Startable publish"))).to_be_visible()
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*")
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()
    page.get_by_role("link", name="Startable@1").click()
    expect(page.get_by_role("heading", name="Startable")).to_be_visible()


def test_a_run_that_waits_for_a_worker_is_moved_to_another(
    site: Site, fleet: Fleet, page: Page
) -> None:
    fleet.publish(fleet.old)
    command = {"type": "pkg.install", "name": "text_tools", "version": "1.0.0"}
    for name in fleet.workers:
        site.http.post(f"/api/v1/workers/{name}/commands", json=command)
        wait_until(lambda name=name: has(fleet, name))
    run_id = fleet.start(workflows.article("Moved", seconds=2))
    page.goto(f"{site.url}/runs/{run_id}")
    running = page.locator("[data-why]").filter(has_text="runs on link-")
    expect(running).to_be_visible()
    holder = "link-a" if "link-a" in running.inner_text() else "link-b"
    other = "link-b" if holder == "link-a" else "link-a"
    fleet.workers[holder].kill()
    try:
        page.get_by_role("button", name="Move").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Worker").select_option(other)
        dialog.get_by_role("button", name="Move").click()
        expect(page.get_by_text("The run is moved")).to_be_visible()
        expect(page.locator("[data-run-state=succeeded]")).to_be_visible(timeout=60_000)
    finally:
        fleet.workers[holder].start()
        fleet.wait(holder, "online")
