"""How news reaches every tab when a browser has no shared workers."""

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser import flows
from tests.browser.conftest import Site

pytestmark = pytest.mark.browser


@pytest.fixture
def bare(context: BrowserContext) -> BrowserContext:
    """A browser as some phones have it: without shared workers."""
    context.add_init_script(
        "Object.defineProperty(window, 'SharedWorker', { value: undefined, configurable: true })"
    )
    return context


def watching(context: BrowserContext, site: Site, run_id: str, streams: list[str]) -> Page:
    page = context.new_page()
    page.on("request", lambda asked: streams.append(asked.url) if "/stream" in asked.url else None)
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.locator("[data-link=live]")).to_be_visible()
    assert page.evaluate("typeof SharedWorker") == "undefined"
    return page


def test_tabs_without_shared_workers_share_one_stream_and_survive_the_tab_that_reads_it(
    site: Site, bare: BrowserContext
) -> None:
    site.push("bare", flows.loop_of_events(40))
    run_id = site.start("bare", {"items": list(range(40))})
    streams: list[str] = []
    first = watching(bare, site, run_id, streams)
    second = watching(bare, site, run_id, streams)
    third = watching(bare, site, run_id, streams)
    assert len(streams) == 1
    # The tab that reads goes away just as things happen: another takes over where it stopped.
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
    first.close()
    for page in (second, third):
        expect(page.locator("[data-run-state=succeeded]")).to_be_visible()
        expect(page.locator("[data-node=each]")).to_contain_text("\u00d740 ✓40")
        expect(page.locator("[data-link=live]")).to_be_visible()
    assert len(streams) == 2


def test_a_tab_that_takes_over_before_any_news_misses_none(
    site: Site, bare: BrowserContext
) -> None:
    site.push("early", flows.loop_of_events(3))
    run_id = site.start("early", {"items": list(range(3))})
    streams: list[str] = []
    first = watching(bare, site, run_id, streams)
    second = watching(bare, site, run_id, streams)

    def once_all_is_over(route: Route) -> None:
        site.wait(run_id, "succeeded")
        route.continue_()

    # Nothing has happened since any of them began to read; now all of it does, while nobody reads.
    second.route("**/stream*", once_all_is_over)
    first.close()
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
    expect(second.locator("[data-run-state=succeeded]")).to_be_visible()
    expect(second.locator("[data-node=each]")).to_contain_text("\u00d73 ✓3")
