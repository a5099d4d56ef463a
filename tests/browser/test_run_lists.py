"""Lists of runs: saved views, columns and order, time to brush, and bulk jobs."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser import flows
from tests.browser.conftest import Site

pytestmark = pytest.mark.browser


def test_a_view_is_saved_on_the_server_renamed_and_deleted(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/runs?q=flow%3Aviewed&sort=-started")
    page.get_by_role("button", name="Save view").click()
    page.get_by_role("textbox", name="Name of the view").fill("My failures")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    views = page.get_by_role("group", name="Views")
    expect(views.get_by_role("button", name="My failures", exact=True)).to_be_visible()
    assert [one["name"] for one in kept(site)] == ["My failures"]

    # Another browser has it as well: nothing of it is in this one.
    page.evaluate("localStorage.clear()")
    page.goto(f"{site.url}/runs")
    views.get_by_role("button", name="My failures", exact=True).click()
    expect(page).to_have_url(re.compile("flow%3Aviewed.*sort=-started"))

    views.get_by_role("button", name="Change the view My failures").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("textbox", name="Name of the view").fill("Ours")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(views.get_by_role("button", name="Ours", exact=True)).to_be_visible()
    views.get_by_role("button", name="Change the view Ours").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(views.get_by_role("button", name="Ours", exact=True)).to_have_count(0)
    assert kept(site) == []


def kept(site: Site) -> list[dict[str, object]]:
    found: list[dict[str, object]] = site.http.get("/api/v1/views").json()["items"]
    return found


def test_columns_are_chosen_and_headings_sort(site: Site, page: Page) -> None:
    site.push("sorted-a", flows.wait_for("never"))
    site.push("sorted-b", flows.wait_for("never"))
    for name in ("sorted-a", "sorted-b"):
        site.start(name, tags={"team": name})
    page.goto(f"{site.url}/runs?q=flow%3Asorted-*")
    rows = page.locator("[data-run]")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitem", name="Tags").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="Tags")).to_be_visible()
    expect(rows.first).to_contain_text("team=")
    heading = page.get_by_role("columnheader", name="Flow")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(rows.first).to_contain_text("sorted-a")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text("sorted-b")
    page.reload()
    expect(page.get_by_role("columnheader", name="Tags")).to_be_visible()
    expect(rows.first).to_contain_text("sorted-b")


def test_brushing_the_time_narrows_the_filter(site: Site, page: Page) -> None:
    site.push("brushed", flows.wait_for("never"))
    first = site.start("brushed")
    time.sleep(1.5)
    last = site.start("brushed")
    page.goto(f"{site.url}/runs?q=flow%3Abrushed")
    expect(page.locator("[data-run]")).to_have_count(2)
    box = page.locator("[data-brush]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 10, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile("created"))
    expect(page.locator(f'[data-run="{last}"]')).to_be_visible()
    expect(page.locator(f'[data-run="{first}"]')).to_have_count(0)


def test_a_bulk_job_shows_how_far_it_is_and_who_refused(site: Site, page: Page) -> None:
    site.push("hold-some", flows.wait_for("never"))
    ids = [site.start("hold-some") for _ in range(6)]
    for run_id in ids:
        site.wait(run_id, "waiting")
    page.goto(f"{site.url}/runs?q=flow%3Ahold-some+status%3Awaiting")
    page.get_by_role("button", name="Cancel all 6").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 6").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("6 / 6")
    expect(dialog).to_contain_text("6 done, 0 refused")
    for run_id in ids:
        site.wait(run_id, "cancelled")
    # What it came to is still there after a reload, and can be sent as an address.
    page.reload()
    expect(page.get_by_role("dialog")).to_contain_text("6 done, 0 refused")

    body = {"act": "delete", "ids": [site.start("hold-some"), site.start("hold-some")]}
    job = site.http.post("/api/v1/bulk", json=body).json()["id"]
    page.goto(f"{site.url}/runs?job={job}")
    expect(page.get_by_role("dialog")).to_contain_text("2 refused")
    expect(page.get_by_role("dialog").get_by_role("link")).to_have_count(2)


def test_three_ticked_runs_are_rerun_as_one_job(site: Site, page: Page) -> None:
    site.push("tick-some", flows.wait_for("never"))
    ids = [site.start("tick-some") for _ in range(3)]
    page.goto(f"{site.url}/runs?q=flow%3Atick-some")
    for run_id in ids:
        page.get_by_role("checkbox", name=f"Select {run_id}").click()
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.get_by_role("button", name="Rerun 3").click()
    page.get_by_role("dialog").get_by_role("button", name="Rerun 3").click()
    expect(page.get_by_role("dialog")).to_contain_text("3 done, 0 refused")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.locator("[data-run]")).to_have_count(6)
