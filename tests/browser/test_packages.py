"""Packages and the workers that have them, in a real browser with real workers on the link."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import Fleet, Site
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.browser


def confirm(page: Page, text: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=text).click()


def holder(page: Page, name: str) -> Locator:
    return page.locator(f"[data-holder='{name}']")


def test_a_bad_archive_is_refused_in_place_and_a_good_one_published(
    site: Site, fleet: Fleet, page: Page, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.cwx"
    bad.write_bytes(b"not an archive at all")
    page.goto(f"{site.url}/packages")
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("Archive (.cwx)").set_input_files(bad)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("alert")).to_contain_text("zip")
    page.get_by_label("Archive (.cwx)").set_input_files(fleet.old)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/packages/text_tools?version=1.0.0")
    expect(page.locator("[data-package-status=active]")).to_be_visible()
    page.get_by_text("Upper case", exact=True).click()
    expect(page.get_by_text("parameters.text", exact=True)).to_be_visible()


def test_an_archive_can_be_dropped_on_the_page(site: Site, fleet: Fleet, page: Page) -> None:
    page.goto(f"{site.url}/packages")
    expect(page.get_by_role("button", name="Upload")).to_be_enabled()
    content = base64.b64encode(fleet.new.read_bytes()).decode()
    page.evaluate(
        """(text) => {
            const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0))
            const data = new DataTransfer()
            data.items.add(new File([bytes], 'text_tools-1.1.0.cwx'))
            const place = document.querySelector('main h1')
            place.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }))
        }""",
        content,
    )
    expect(page.get_by_role("dialog")).to_contain_text("text_tools-1.1.0.cwx")
    confirm(page, "Publish")
    page.wait_for_url("**/packages/text_tools?version=1.1.0")
    expect(page.locator("[data-version='1.0.0']")).to_be_visible()


def test_a_version_is_installed_on_a_worker_and_removed_again(
    site: Site, fleet: Fleet, page: Page
) -> None:
    fleet.publish(fleet.new)
    page.goto(f"{site.url}/packages/text_tools?version=1.1.0")
    holder(page, "link-b").get_by_role("button", name="Install").click()
    # No reload: the worker says what it has, and the stream says that it said something.
    expect(holder(page, "link-b")).to_contain_text("installed", timeout=30_000)
    page.goto(f"{site.url}/workers?id=link-b")
    has = page.locator("[data-has='text_tools@1.1.0']")
    expect(has).to_contain_text("installed")
    has.get_by_role("button", name="Remove").click()
    expect(has).to_have_count(0, timeout=30_000)


def test_a_version_is_yanked_and_taken_back_with_what_it_means_said_first(
    site: Site, fleet: Fleet, page: Page
) -> None:
    fleet.publish(fleet.new)
    page.goto(f"{site.url}/packages/text_tools?version=1.1.0")
    page.get_by_role("button", name="Yank").click()
    expect(page.get_by_role("dialog")).to_contain_text("no new run may name it")
    confirm(page, "Yank")
    expect(page.locator("[data-package-status=yanked]")).to_be_visible()
    answer = site.http.post(
        "/api/v1/workers/link-b/commands",
        json={"type": "pkg.install", "name": "text_tools", "version": "1.1.0"},
    )
    assert answer.status_code == 409
    page.get_by_role("button", name="Reactivate").click()
    confirm(page, "Reactivate")
    expect(page.locator("[data-package-status=active]")).to_be_visible()


def test_latest_is_rolled_back_to_an_older_version(site: Site, fleet: Fleet, page: Page) -> None:
    fleet.publish(fleet.old)
    fleet.publish(fleet.new)
    page.goto(f"{site.url}/packages")
    expect(page.locator("[data-package=text_tools]")).to_contain_text("1.1.0")
    page.get_by_role("link", name="text_tools").click()
    page.locator("[data-version='1.0.0']").get_by_role("link").click()
    page.get_by_role("button", name="Roll back to this version").click()
    confirm(page, "Roll back to this version")
    expect(page.locator("[data-version='1.0.0']")).to_contain_text("latest")
    assert site.http.get("/api/v1/packages/text_tools").json()["distTags"] == {"latest": "1.0.0"}
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Packages").click()
    expect(page.locator("[data-package=text_tools]")).to_contain_text("1.0.0")
    site.http.delete("/api/v1/published-packages/text_tools/tags/latest")


def test_a_worker_is_drained_and_takes_work_again(site: Site, fleet: Fleet, page: Page) -> None:
    page.goto(f"{site.url}/workers?way=link")
    expect(page.locator("[data-worker]")).to_have_count(2)
    page.get_by_label("Find a worker").fill("link-b")
    expect(page.locator("[data-worker]")).to_have_count(1)
    row = page.locator("[data-worker='link-b']")
    expect(row).to_contain_text("CPU")
    row.get_by_role("button", name="link-b").click()
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_role("dialog")).to_contain_text("gets nothing new")
    confirm(page, "Drain")
    expect(row).to_have_attribute("data-state", "draining")
    page.get_by_role("button", name="Take work again").click()
    expect(row).to_have_attribute("data-state", "online")
    # What the server asks for again, the worker itself still refuses: it drains until it restarts.
    fleet.restart("link-b")


def test_who_may_only_look_sees_no_buttons(context: BrowserContext, tmp_path: Path) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", "root")
    with started(server):
        site = Site(server, server)
        site.http.headers["Authorization"] = "Bearer root"
        made = site.http.post("/api/v1/tokens", json={"name": "eve", "role": "viewer"}).json()
        page = context.new_page()
        for token, seen in ((str(made["token"]), 0), ("root", 1)):
            page.goto(f"{server.url}/packages")
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Use the token").click()
            expect(page.get_by_text("No packages yet")).to_be_visible()
            expect(page.get_by_text("windlass pkg publish")).to_be_visible()
            expect(page.get_by_role("button", name="Upload")).to_have_count(seen)
            page.goto(f"{server.url}/runs")
            expect(page.get_by_text("No runs yet")).to_be_visible()
            expect(page.get_by_role("button", name="New run")).to_have_count(seen)
            page.goto(f"{server.url}/settings")
            page.get_by_role("button", name="Sign out").click()
        site.http.close()
