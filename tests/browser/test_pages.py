"""Every page, wide and narrow, light and dark: accessible, and as it looks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Fleet, Site
from tests.browser.seed import seed
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
# The grid of a flow's runs is as wide as there are runs, and is meant to be scrolled.
TOO_WIDE = """[...document.querySelectorAll('main table')]
    .map((table) => table.parentElement)
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.getAttribute('aria-label'))
    .filter((name) => name !== 'Grid')"""
WIDTHS = {1440: 900, 1024: 768, 390: 844}


@pytest.fixture(scope="module")
def places(site: Site, fleet: Fleet) -> dict[str, str]:
    return seed(site, fleet)


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
    context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(
    site: Site, places: dict[str, str], browser: Browser, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": WIDTHS[width]}, locale="en-GB", timezone_id="UTC"
    )
    page = context.new_page()
    try:
        for name, path in places.items():
            opened(page, site, path)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} px wide at {width}"
            tables = page.evaluate(TOO_WIDE)
            assert not tables, f"{name} has tables to scroll sideways at {width}: {tables}"
            if name.endswith("-graph"):
                box = page.locator(".react-flow").bounding_box()
                assert box is not None, f"{name} draws no graph"
                assert box["height"] > 300, f"the graph of {name} is {box['height']} px high"
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
