"""What a graph draws: titles above their children, edges beside cards, Tab as one reads."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import flows, workflows
from tests.browser.conftest import Fleet, Site
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.browser

MANY = 1_600

# Every text and every filled rectangle of the last picture, in page pixels and in their order.
RECORD = """
    const pen = CanvasRenderingContext2D.prototype
    const { setTransform, fillText, fillRect } = pen
    window.drawn = []
    const at = (pen, x, y) => {
        const point = new DOMPoint(x, y).matrixTransform(pen.getTransform())
        return [point.x, point.y]
    }
    pen.setTransform = function (...given) {
        window.drawn = []
        return setTransform.apply(this, given)
    }
    pen.fillText = function (text, x, y, most) {
        const wide = Math.min(this.measureText(text).width, most ?? Infinity)
        const [left, bottom] = at(this, x, y)
        const [right, top] = at(this, x + wide, y - 9)
        if (text.trim()) window.drawn.push({ text, left, right, top, bottom })
        return fillText.call(this, text, x, y, most)
    }
    pen.fillRect = function (x, y, width, height) {
        const [left, top] = at(this, x, y)
        const [right, bottom] = at(this, x + width, y + height)
        window.drawn.push({ left, right, top, bottom })
        return fillRect.call(this, x, y, width, height)
    }
"""


def test_no_text_of_a_canvas_lies_under_what_is_drawn_after_it(site: Site, page: Page) -> None:
    site.push("titled", flows.review())
    run_id = site.start("titled", {"pages": list(range(MANY))})
    site.wait(run_id, "waiting")
    page.add_init_script(RECORD)
    page.goto(f"{site.url}/runs/{run_id}?open=fetch")
    graph = page.locator(f"[data-graph='{MANY + 4}']")
    expect(graph).to_have_attribute("data-zoom", re.compile(r"^0\.\d+"))
    # Far away nothing is written; the group is the first cell as one reads, and is gone to.
    graph.locator("canvas").focus()
    page.keyboard.press("Home")
    expect(graph).to_have_attribute("data-focused", "fetch")
    wait_until(lambda: page.evaluate("window.drawn.some((one) => one.text?.includes('fetch'))"))
    drawn: list[dict[str, Any]] = page.evaluate("window.drawn")
    assert sum("[" in one.get("text", "") for one in drawn) > 10, "its branches are drawn"
    hidden = [
        one["text"]
        for at, one in enumerate(drawn)
        if "text" in one and any(covers(other, one) for other in drawn[at + 1 :])
    ]
    assert not hidden


def covers(other: dict[str, Any], text: dict[str, Any]) -> bool:
    if "text" in other:
        return False
    beside = other["left"] >= text["right"] or other["right"] <= text["left"]
    return not beside and other["top"] < text["bottom"] and other["bottom"] > text["top"]


def shortcut() -> dict[str, Any]:
    """Two ways to the same end, one of them past a card; named and listed in no order."""
    local = {"exec_type": "local_func", "func": "mul", "prep": {"input_key": "$params.x"}}
    ask = {"kind": "approval", "params": {"approval_key": "$shared.ok", "prompt": "Go on?"}}
    return {
        "start": "z_first",
        "nodes": {
            "m_between": {**local, "post": {"output_key": "b"}},
            "z_first": {**local, "post": {"output_key": "a"}},
            "a_last": {**local, "post": {"output_key": "c"}},
            "y_ask": {**ask, "post": {"action_key": "ok"}},
        },
        "edges": [
            {"from": "m_between", "to": "a_last"},
            {"from": "y_ask", "action": "rejected", "to": "a_last"},
            {"from": "y_ask", "action": "approved", "to": "m_between"},
            {"from": "z_first", "to": "y_ask"},
        ],
    }


# Points of edges that lie deeper in a card than its border.
BEHIND = """() => {
    const cards = [...document.querySelectorAll('[data-node]')]
    const ids = cards.map((card) => card.dataset.node)
    const leaves = cards.filter((card) => !ids.some((id) => id.startsWith(card.dataset.node + '/')))
    const found = []
    for (const path of document.querySelectorAll('.react-flow__edge-path')) {
        const matrix = path.getScreenCTM()
        const length = path.getTotalLength()
        for (let at = 0; at <= 100; at += 1) {
            const { x, y } = path.getPointAtLength((length * at) / 100).matrixTransform(matrix)
            for (const card of leaves) {
                const box = card.getBoundingClientRect()
                const sides = [x - box.left, box.right - x, y - box.top, box.bottom - y]
                if (Math.min(...sides) > 6) found.push(`${path.id} in ${card.dataset.node}`)
            }
        }
    }
    return found
}"""


def test_edges_run_beside_the_cards_on_their_way(site: Site, page: Page) -> None:
    site.push("shortcut", shortcut())
    page.goto(f"{site.url}/flows/shortcut")
    expect(page.locator("[data-node=a_last]")).to_be_visible()
    expect(page.locator(".react-flow__edge-path")).to_have_count(4)
    wait_until(lambda: not page.evaluate(BEHIND), timeout_s=5)


def test_edges_of_ports_lead_from_name_to_name(site: Site, fleet: Fleet, page: Page) -> None:
    fleet.publish(fleet.old)
    run_id = fleet.start(workflows.article("Wired"))
    site.wait(run_id, "succeeded")
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    box = workflows.uuid("Wired box")
    shout, say = (f"{box}/{workflows.uuid(f'Wired {name}')}" for name in ("shout", "say"))
    expect(page.locator(f"[data-node='{say}'] [data-port-mark=message]")).to_be_visible()
    expect(page.locator(f"[data-node='{say}'] [data-port-mark=message]")).not_to_be_empty()
    expect(page.locator(".react-flow__edge-path")).to_have_count(4)
    wait_until(lambda: not page.evaluate(BEHIND), timeout_s=5)
    begin, end = page.get_by_label("Shout → Say it").locator("path").first.evaluate(ENDS)
    assert min(off(page, shout, "text", begin)) <= 10, "it leaves at the name of its port"
    assert min(off(page, say, "message", end)) <= 10, "it arrives at the name of its port"


# Where a line begins and ends on the page.
ENDS = """(path) => {
    const matrix = path.getScreenCTM()
    const at = (length) => path.getPointAtLength(length).matrixTransform(matrix)
    return [at(0), at(path.getTotalLength())].map((point) => [point.x, point.y])
}"""


def off(page: Page, node: str, port: str, point: list[float]) -> list[float]:
    """How far above or below the middle of a port's names a point is."""
    marks = page.locator(f"[data-node='{node}'] [data-port-mark={port}]").all()
    boxes = [box for mark in marks if (box := mark.bounding_box())]
    return [abs(box["y"] + box["height"] / 2 - point[1]) for box in boxes]


def test_tab_goes_from_card_to_card_as_one_reads(site: Site, page: Page) -> None:
    site.push("read", shortcut())
    run_id = site.start("read", {"x": 1})
    site.wait(run_id, "waiting")
    [asked] = site.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
    answer = site.http.post(
        f"/api/v1/checkpoints/{asked['id']}/resolve", json={"answer": "approved"}
    )
    assert answer.status_code == 200, answer.text
    site.wait(run_id, "succeeded")
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    expect(page.locator("[data-node][data-state=succeeded]")).to_have_count(4)
    page.get_by_role("button", name="Graph", exact=True).focus()
    seen: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        at = "document.activeElement.closest('[data-node]')?.dataset.node ?? ''"
        node = page.evaluate(at)
        if node and node not in seen:
            seen.append(node)
    assert seen == ["z_first", "y_ask", "m_between", "a_last"]


# The contrast of each dashed border with what lies within and around it.
DASHED = """() => {
    const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
    const rgb = (color) => {
        paint.clearRect(0, 0, 1, 1)
        paint.fillStyle = color
        paint.fillRect(0, 0, 1, 1)
        return [...paint.getImageData(0, 0, 1, 1).data]
    }
    const light = ([r, g, b]) => {
        const part = (one) => (one <= 10 ? one / 3294 : ((one / 255 + 0.055) / 1.055) ** 2.4)
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    }
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const color = rgb(getComputedStyle(node).backgroundColor)
            if (color[3] === 255) return color
        }
        return [255, 255, 255]
    }
    const ratio = (a, b) => {
        const [high, low] = [light(a), light(b)].sort((x, y) => y - x)
        return (high + 0.05) / (low + 0.05)
    }
    return [...document.querySelectorAll('main *, [role=dialog] *')]
        .filter((one) => getComputedStyle(one).borderTopStyle === 'dashed')
        .filter((one) => !one.closest('[aria-hidden=true]'))
        .map((one) => {
            const border = rgb(getComputedStyle(one).borderTopColor)
            return Math.min(ratio(border, ground(one)), ratio(border, ground(one.parentElement)))
        })
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dashed_borders_are_seen(site: Site, browser: Browser, theme: str) -> None:
    site.push("not-taken", flows.review())
    run_id = site.start("not-taken", {"pages": [1]})
    site.wait(run_id, "waiting")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    context.add_init_script(f"localStorage.setItem('windlass.prefs', '{{\"theme\":\"{theme}\"}}')")
    page = context.new_page()
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    expect(page.locator("[data-node=discard]")).to_contain_text("not reached")
    assert len(found := page.evaluate(DASHED)) >= 2, "what was not taken is dashed"
    page.goto(f"{site.url}/packages")
    page.get_by_role("button", name="Upload").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert (more := page.evaluate(DASHED)), "where an archive is dropped is dashed"
    context.close()
    # What tells something has 3:1 (WCAG 1.4.11).
    assert min(*found, *more) >= 3, (found, more)
