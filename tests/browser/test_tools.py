"""The smaller tools of the pages: a canvas for large graphs, a movable line, exports, refusals."""

import csv
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import flows
from tests.browser.conftest import Site

pytestmark = pytest.mark.browser

MANY = 1_600


def test_a_graph_of_many_nodes_is_a_canvas_that_pans_selects_and_takes_the_keyboard(
    site: Site, page: Page
) -> None:
    site.push("wide", flows.review())
    run_id = site.start("wide", {"pages": list(range(MANY))})
    site.wait(run_id, "waiting")
    page.goto(f"{site.url}/runs/{run_id}?open=fetch")
    graph = page.locator(f"[data-graph='{MANY + 4}']")
    canvas = graph.locator("canvas")
    expect(canvas).to_be_visible()
    # Laid out by its worker, and fitted.
    expect(graph).to_have_attribute("data-zoom", re.compile(r"^0\.\d+"))
    before = picture(page)
    assert len(set(before)) > 50, "nothing is drawn"
    box = canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y + 40, steps=5)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert picture(page) != before, "dragging moved nothing"
    assert "task=" not in page.url, "a drag is not a click"
    page.mouse.click(x + 120, y + 40)
    page.wait_for_url("**task=*")
    expect(page.get_by_role("complementary")).to_contain_text("fetch")
    zoom = graph.get_attribute("data-zoom")
    page.get_by_role("button", name="Zoom in").click()
    assert float(graph.get_attribute("data-zoom") or 0) > float(zoom or 0)
    # The same without a mouse: arrows go from cell to cell, Enter opens.
    canvas.focus()
    page.keyboard.press("Home")
    first = graph.get_attribute("data-focused")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert graph.get_attribute("data-focused") != first
    page.get_by_role("complementary").get_by_role("button", name="Close").click()
    canvas.focus()
    page.keyboard.press("Home")
    name = page.evaluate("document.querySelector('[data-graph] [role=status]').textContent")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_contain_text(name.split()[0])


def picture(page: Page) -> list[int]:
    """A few thousand pixels of the canvas."""
    found: list[int] = page.evaluate(
        """() => {
            const canvas = document.querySelector('[data-graph] canvas')
            const { width, height } = canvas
            const data = canvas.getContext('2d').getImageData(0, 0, width, height).data
            const seen = []
            for (let at = 0; at < data.length; at += 797) seen.push(data[at])
            return seen.map((value, index) => value * 100000 + index).filter((v) => v >= 100000)
        }"""
    )
    return found


def test_the_task_is_made_wider_by_hand_and_by_keyboard(site: Site, page: Page) -> None:
    site.push("failing", flows.failing())
    run_id = site.start("failing", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs/{run_id}?task={run_id}~second.2")
    line = page.get_by_role("separator", name="Width of the task")
    aside = page.get_by_role("complementary")
    expect(aside).to_be_visible()
    before = width_of(page)
    line.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert width_of(page) == before + 40
    expect(line).to_have_attribute("aria-valuenow", str(before + 40))
    box = line.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] - 58, box["y"] + 200, steps=4)
    page.mouse.up()
    assert abs(width_of(page) - (before + 100)) <= 2
    page.reload()
    expect(aside).to_be_visible()
    assert abs(width_of(page) - (before + 100)) <= 2


def width_of(page: Page) -> int:
    box = page.get_by_role("complementary").bounding_box()
    assert box is not None
    return round(box["width"])


def test_runs_are_exported_as_csv(site: Site, page: Page) -> None:
    site.push("exported", flows.wait_for("never"))
    ids = {site.start("exported") for _ in range(3)}
    page.goto(f"{site.url}/runs?q=flow%3Aexported")
    with page.expect_download() as kept:
        page.get_by_role("button", name="Export as CSV").click()
    rows = list(csv.DictReader(kept.value.path().read_text().splitlines()))
    assert {row["id"] for row in rows} == ids
    assert {row["flow"] for row in rows} == {"exported"}
