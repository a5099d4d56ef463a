"""The logs of a run: one stream of all its tasks, live, narrowed, followed, and kept as a file."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import flows
from tests.browser.conftest import Site
from tests.hand import HandWorker

pytestmark = pytest.mark.browser


def test_two_tasks_that_talk_stand_in_the_order_of_time_while_they_run(
    site: Site, page: Page
) -> None:
    site.push("two", flows.side_by_side("left", "right"))
    left, right = HandWorker(site.http, "left"), HandWorker(site.http, "right")
    run_id = site.start("two")
    one, two = left.take(), right.take()
    left.say(one, "one")
    right.say(two, "two")
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    log = page.get_by_role("log", name="Logs")
    texts = log.locator("[data-text]")
    expect(texts).to_have_text(["one", "two"])
    left.say(one, "\nthree: ValueError", 3)
    expect(texts).to_have_text(["one", "two", "three: ValueError"])
    right.say(two, "\nfour", 3, marks=[[1, 4, "warning"]])
    expect(texts).to_have_text(["one", "two", "three: ValueError", "four"])
    expect(page.locator("[data-run-state=running]")).to_be_visible()
    levels = log.locator("[data-level]")
    expect(levels).to_have_text(["", "", "error?", "warning"])
    # Who speaks is named on each line, and leads to the task.
    expect(log.get_by_role("button", name=re.compile("#1$"))).to_have_count(4)

    page.get_by_role("button", name="Warnings").click()
    expect(texts).to_have_text(["three: ValueError", "four"])
    page.get_by_role("button", name="Errors").click()
    expect(texts).to_have_text(["three: ValueError"])
    page.get_by_label("Find in the logs").fill("nothing like it")
    expect(log).to_contain_text("Nothing matches Errors · “nothing like it”")
    page.get_by_role("button", name="Clear the filter").click()
    expect(texts).to_have_count(4)
    page.get_by_label("Task", exact=True).select_option(index=2)
    expect(texts).to_have_text(["two", "four"])
    page.get_by_label("Find in the logs").fill("FOUR")
    expect(texts).to_have_text(["four"])
    expect(log.locator("mark")).to_have_text("four")
    with page.expect_download() as kept:
        page.get_by_role("button", name="Download").click()
    line = kept.value.path().read_text()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z warning both\.1~1#1 four\n", line), line
    left.finish(one, 1)
    right.finish(two, 2)
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()


def test_the_end_of_a_log_is_followed_until_somebody_reads_above_it(site: Site, page: Page) -> None:
    site.push("serious", flows.queued("serious"))
    hand = HandWorker(site.http, "serious")
    run_id = site.start("serious", {"x": 1})
    attempt = hand.take()
    said = "".join(f"line {n}\n" for n in range(700))
    hand.say(attempt, said)
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    log = page.get_by_role("log", name="Logs")
    expect(log.get_by_text("line 699", exact=True)).to_be_in_viewport()
    more = "a second\n"
    hand.say(attempt, more, len(said))
    expect(log.get_by_text("a second")).to_be_in_viewport()
    follow = page.get_by_role("button", name="Follow")
    expect(follow).to_have_attribute("aria-pressed", "true")
    log.evaluate("node => { node.scrollTop = 0 }")
    expect(follow).to_have_attribute("aria-pressed", "false")
    hand.say(attempt, "a third\n", len(said) + len(more))
    expect(log.get_by_text("a third")).to_be_attached()
    expect(log.get_by_text("a third")).not_to_be_in_viewport()
    expect(log.get_by_text("line 5", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Load earlier").click()
    expect(log.get_by_text("line 5", exact=True)).to_be_attached()
    follow.click()
    expect(log.get_by_text("a third")).to_be_in_viewport()
    with page.expect_download() as kept:
        page.get_by_role("button", name="Download").click()
    assert len(kept.value.path().read_text().splitlines()) == 702
    hand.finish(attempt, 1)


def test_colours_are_shown_and_an_entry_of_several_lines_opens(site: Site, page: Page) -> None:
    site.push("coloured", flows.queued("coloured"))
    hand = HandWorker(site.http, "coloured")
    run_id = site.start("coloured", {"x": 1})
    attempt = hand.take()
    coloured = "\x1b[31mbroken\x1b[0m and \x1b[32mmended\x1b[0m"
    trace = "Traceback\n  in print\nInkError: empty"
    marks = [[len(coloured) + 1, len(trace), "error"]]
    hand.say(attempt, f"{coloured}\n{trace}", marks=marks)
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    log = page.get_by_role("log", name="Logs")
    expect(log).to_contain_text("broken and mended")
    expect(log.locator(".text-bad", has_text="broken")).to_have_text("broken")
    expect(log).to_contain_text("Traceback … InkError: empty")
    expect(log).not_to_contain_text("in print")
    log.get_by_role("button", name="3 lines").click()
    expect(log).to_contain_text("in print")
    # The page of the task has the same, of itself alone.
    log.get_by_role("button", name="work.1 #1").first.click()
    aside = page.get_by_role("complementary")
    aside.get_by_role("button", name="Logs").click()
    expect(aside.get_by_role("log", name="Logs")).to_contain_text("broken and mended")
    hand.finish(attempt, 1)
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()


def test_a_file_that_ends_before_the_log_does_says_so(site: Site, page: Page) -> None:
    site.push("endless", flows.queued("endless"))
    hand = HandWorker(site.http, "endless")
    run_id = site.start("endless", {"x": 1})
    attempt = hand.take()
    hand.say(attempt, "a word\n")
    hand.finish(attempt, 1)
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    log = page.get_by_role("log", name="Logs")
    expect(log).to_contain_text("a word")
    with page.expect_download() as whole:
        page.get_by_role("button", name="Download").click()
    assert len(whole.value.path().read_text().splitlines()) == 1
    said = page.get_by_text("The file ends after the first")
    expect(said).to_have_count(0)
    # A log without an end: what the server says of the one entry, again and again.
    [entry] = site.http.get(f"/api/v1/runs/{run_id}/logs").json()["items"]
    body = json.dumps({"items": [entry] * 1000, "next": "on", "position": "on"})

    def endless(route: Route) -> None:
        route.fulfill(body=body, content_type="application/json")

    page.route(re.compile(rf"/runs/{run_id}/logs\?.*limit=1000"), endless)
    with page.expect_download(timeout=60_000) as cut:
        page.get_by_role("button", name="Download").click()
    assert len(cut.value.path().read_text().splitlines()) == 200_000
    expect(said).to_contain_text("200,000 entries")
    page.get_by_role("button", name="Errors").click()
    expect(said).to_have_count(0)
