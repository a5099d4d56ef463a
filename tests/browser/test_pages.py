"""Every page, wide and narrow, light and dark: accessible, and as it looks."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import flows, workflows
from tests.browser.conftest import Fleet, Site
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = ROOT / "docs" / "screenshots"
WIDTHS = {1440: 900, 390: 844}


@pytest.fixture(scope="module")
def places(site: Site, fleet: Fleet) -> dict[str, str]:
    """The pages by name, with something to see on each."""
    fleet.publish(fleet.old)
    fleet.publish(fleet.new)
    article = workflows.article("Article pipeline")
    wired = fleet.start(article)
    site.wait(wired, "succeeded")
    publish = f"{wired}~{workflows.uuid('Article pipeline publish')}.0"
    site.push("review-pages", flows.review())
    changed = flows.review()
    changed["nodes"]["discard"]["params"]["delay_ms"] = 50
    site.push("review-pages", changed)
    site.push("ingest", flows.failing())
    site.push("render", flows.queued("gpu-render"))
    site.push("approve-release", flows.wait_for("release"))
    waiting = site.start("review-pages", {"pages": list(range(12))})
    big = site.start("review-pages", {"pages": list(range(128))})
    failed = site.start("ingest", {"x": 2, "word": "abc"})
    site.start("render", {"x": 1})
    site.start("approve-release")
    site.wait(failed, "failed")
    site.wait(big, "waiting")
    site.http.post(f"/api/v1/runs/{failed}/retry", json={})
    site.wait(failed, "failed")
    return {
        "overview": "/",
        "runs": "/runs",
        "run-graph": f"/runs/{big}?view=dag",
        "run-timeline": f"/runs/{failed}?view=flow",
        "run-list": f"/runs/{big}?view=list",
        "run-events": f"/runs/{waiting}?view=events",
        "run-task": f"/runs/{failed}?view=dag&task={failed}~second.2&tab=attempts",
        "inbox": "/inbox",
        "flows": "/flows",
        "flow-graph": "/flows/review-pages",
        "flow-diff": "/flows/review-pages?tab=diff",
        "workers": "/workers",
        "worker": "/workers?id=link-a",
        "packages": "/packages",
        "package": "/packages/text_tools?version=1.0.0",
        "workflow-run-graph": f"/runs/{wired}?view=dag",
        "workflow-task": f"/runs/{wired}?view=list&task={publish}&tab=io",
        "workflow-graph": f"/flows/{article['id']}",
        "settings": "/settings",
    }


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    prefs = json.dumps({"theme": request.param, "zone": "utc"})
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, locale="en-GB", reduced_motion="reduce"
    )
    # The page's own policy forbids foreign scripts; axe is ours to bring.
    context.add_init_script(f"localStorage.setItem('windlass.prefs', '{prefs}')")
    yield context.new_page()
    context.close()


def barriers(page: Page, name: str) -> list[str]:
    """What axe finds on a page that keeps somebody from using it."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed; make ui installs it")
    page.evaluate(AXE.read_text())
    result: dict[str, Any] = page.evaluate("axe.run()")
    return [
        f"{name}: {one['id']} {node['target']} {node.get('failureSummary', '')[:200]}"
        for one in result["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def opened(page: Page, site: Site, path: str) -> None:
    page.goto(site.url + path)
    expect(page.locator("[data-link=live]")).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    # Graphs are laid out by a worker and drawn a frame later.
    page.wait_for_timeout(300)


def test_no_page_has_a_serious_barrier(site: Site, places: dict[str, str], themed: Page) -> None:
    found: list[str] = []
    for name, path in places.items():
        opened(themed, site, path)
        found += barriers(themed, name)
    assert not found, "\n".join(found)


def test_no_dialog_has_a_serious_barrier(site: Site, places: dict[str, str], themed: Page) -> None:
    found: list[str] = []
    for place, button in (
        ("package", "Yank"),
        ("packages", "Upload"),
        ("worker", "Drain"),
        ("runs", "New run"),
    ):
        opened(themed, site, places[place])
        themed.get_by_role("button", name=button).click()
        expect(themed.get_by_role("dialog")).to_be_visible()
        found += barriers(themed, f"{place}: {button}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("width", WIDTHS)
def test_signing_in_has_no_barrier_and_fits(browser: Browser, tmp_path: Path, width: int) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", "open-sesame")
    context = browser.new_context(viewport={"width": width, "height": WIDTHS[width]})
    with started(server):
        page = context.new_page()
        page.goto(f"{server.url}/runs")
        expect(page.get_by_label("User name")).to_be_visible()
        assert not barriers(page, "sign-in")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if os.environ.get("WINDLASS_SCREENSHOTS") == "1":
            page.screenshot(path=SHOTS / f"sign-in-{width}.png")
    context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(
    site: Site, places: dict[str, str], browser: Browser, width: int
) -> None:
    """Nothing is wider than the window; WINDLASS_SCREENSHOTS=1 keeps the pictures."""
    keep = os.environ.get("WINDLASS_SCREENSHOTS") == "1"
    context = browser.new_context(
        viewport={"width": width, "height": WIDTHS[width]}, locale="en-GB", timezone_id="UTC"
    )
    page = context.new_page()
    try:
        for name, path in places.items():
            opened(page, site, path)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} px wide at {width}"
            if name.endswith("-graph"):
                box = page.locator(".react-flow").bounding_box()
                assert box is not None, f"{name} draws no graph"
                assert box["height"] > 300, f"the graph of {name} is {box['height']} px high"
            if keep:
                page.screenshot(path=SHOTS / f"{name}-{width}.png")
        if keep:
            page.evaluate("localStorage.setItem('windlass.prefs', '{\"theme\":\"dark\"}')")
            opened(page, site, places["run-task"])
            page.screenshot(path=SHOTS / f"run-task-dark-{width}.png")
    finally:
        context.close()


def test_the_policy_lets_nothing_foreign_in(site: Site, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    opened(page, site, "/")
    opened(page, site, "/flows/review-pages")
    foreign = [url for url in asked if not url.startswith((site.url, "data:"))]
    assert not foreign
    assert not [text for text in complaints if "Content Security Policy" in text]


def test_chinese_is_one_click_away(site: Site, page: Page) -> None:
    opened(page, site, "/settings")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", name="设置")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
