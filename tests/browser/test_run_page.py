"""What the page of one run says: true now, in words that fit, and never acting by accident."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import flows
from tests.browser.conftest import Site
from tests.hand import HandWorker

pytestmark = pytest.mark.browser

DAY_MS = 86_400_000


def live(page: Page) -> None:
    expect(page.locator("[data-link=live]")).to_be_visible()


def test_the_key_for_approving_asks_first(site: Site, page: Page) -> None:
    site.push("ask-first", flows.asking("Ship it?", DAY_MS))
    run_id = site.start("ask-first")
    site.wait(run_id, "waiting")
    page.goto(f"{site.url}/runs/{run_id}?task={run_id}~ask.1")
    live(page)
    expect(page.get_by_role("complementary").get_by_role("button", name="Approve")).to_be_visible()
    page.keyboard.press("a")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Ship it?")
    assert site.run(run_id)["state"] == "waiting"
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert site.run(run_id)["state"] == "waiting"
    page.keyboard.press("a")
    expect(dialog.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")
    undo = page.get_by_role("button", name="Undo")
    undo.click()
    expect(undo).to_have_count(0)
    assert site.run(run_id)["state"] == "waiting"
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    expect(undo).to_be_visible()
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible(timeout=10_000)


def test_attempts_are_counted_as_numbers_and_old_errors_are_not_a_reason(
    site: Site, page: Page
) -> None:
    site.push("eleven", flows.retried("eleven", 20))
    hand = HandWorker(site.http, "eleven")
    run_id = site.start("eleven", {"x": 1})
    for number in range(10):
        hand.fail(hand.take(), f"stumbled over {number}")
    last = hand.take()
    page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~work.1&tab=attempts")
    aside = page.get_by_role("complementary")
    shown = aside.get_by_role("listitem").locator("b")
    expect(shown).to_have_text([f"#{number}" for number in range(11, 0, -1)])
    expect(aside.get_by_label("To attempt").locator("option")).to_have_text(
        [f"#{number}" for number in range(1, 12)]
    )
    hand.finish(last, 5)
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()
    expect(aside.get_by_role("listitem").first).to_contain_text("succeeded")
    expect(aside.locator("header")).not_to_contain_text("stumbled")
    row = page.get_by_role("row").filter(has_text="work")
    expect(row).not_to_contain_text("stumbled")
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    expect(page.locator("[data-node=work]")).to_have_attribute("data-state", "succeeded")
    expect(page.locator("[data-node=work]")).not_to_contain_text("stumbled")


def test_why_counts_and_logs_arrive_while_an_attempt_runs(site: Site, page: Page) -> None:
    site.push("talks", flows.queued("talks"))
    run_id = site.start("talks", {"x": 1})
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    why = page.locator("[data-why]")
    expect(why).to_contain_text(re.compile("is queued for [01]s"))
    expect(why).to_contain_text(re.compile("is queued for [2-4]s"))
    hand = HandWorker(site.http, "talks")
    attempt = hand.take()
    expect(why).to_contain_text("runs on hand-talks")
    hand.say(attempt, "first words\n")
    log = page.get_by_role("log", name="Logs")
    expect(log).to_contain_text("first words")
    hand.say(attempt, "second words\n", len("first words\n"))
    expect(log).to_contain_text("second words")
    page.get_by_role("button", name="work.1 #1").first.click()
    aside = page.get_by_role("complementary")
    expect(aside).to_contain_text("second words")
    hand.say(attempt, "third words\n", len("first words\nsecond words\n"))
    expect(aside).to_contain_text("third words")
    hand.finish(attempt, 1)
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()


def test_a_fan_out_that_is_done_misses_no_worker(site: Site, page: Page) -> None:
    site.push("fan", flows.loop_of_events(3))
    run_id = site.start("fan", {"items": [1, 2, 3]})
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
    site.wait(run_id, "succeeded")
    aside = page.get_by_role("complementary")
    page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~each.2&tab=attempts")
    expect(aside).to_contain_text("Its branches have the attempts")
    page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~gate.1&tab=attempts")
    expect(aside).to_contain_text("It needed no worker")
    page.get_by_role("button", name="Data").click()
    # Sizes below a thousand are in bytes, and what is empty is not "0.0 kB".
    expect(page.get_by_text("0.0 kB")).to_have_count(0)


def test_the_signal_dialog_knows_what_the_run_waits_for(site: Site, page: Page) -> None:
    site.push("signalled", flows.wait_for("paid"))
    run_id = site.start("signalled")
    site.wait(run_id, "waiting")
    page.goto(f"{site.url}/runs/{run_id}")
    page.get_by_role("button", name="Signal").click()
    expect(page.get_by_role("dialog").get_by_label("Key")).to_have_value("paid")
    page.get_by_role("dialog").get_by_label("Value").fill("true")
    page.keyboard.press("Enter")
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()


def test_a_menu_closes_by_escape_and_by_a_click_beside_it(site: Site, page: Page) -> None:
    site.push("menu", flows.wait_for("menu"))
    page.goto(f"{site.url}/runs/{site.start('menu')}")
    live(page)
    menu = page.get_by_role("button", name="Copy as")
    link = page.get_by_role("menuitem", name="curl")
    menu.click()
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    menu.click()
    expect(link).to_be_visible()
    page.get_by_role("main").click(position={"x": 5, "y": 5})
    expect(link).to_be_hidden()


def test_a_run_that_only_sleeps_has_a_timeline(site: Site, page: Page) -> None:
    site.push("sleeper", flows.sleeping(3_600_000))
    run_id = site.start("sleeper")
    site.wait(run_id, "waiting")
    page.clock.install()
    page.goto(f"{site.url}/runs/{run_id}?view=flow")
    live(page)
    # After a while all of it would be one idle gap: the only thing there is is never cut.
    page.clock.fast_forward(120_000)
    expect(page.get_by_role("img", name="Timeline of 1 spans")).to_be_visible()
    expect(page.get_by_role("button", name="Gaps cut: 0")).to_be_visible()


def test_cards_are_in_reading_order_with_borders_that_are_seen(site: Site, page: Page) -> None:
    site.push("ordered", flows.failing())
    run_id = site.start("ordered", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    cards = page.locator("[data-node]")
    expect(cards).to_have_count(2)
    order = [card.get_attribute("data-node") for card in cards.all()]
    assert order == ["first", "second"]
    page.goto(f"{site.url}/flows/ordered")
    expect(cards.first).to_be_visible()
    # A border that says something is seen: 3:1, which the hairlines do not have.
    border = cards.first.evaluate("(card) => getComputedStyle(card).borderTopColor")
    assert border in ("rgb(134, 139, 149)", "rgb(111, 120, 133)")


def test_a_run_is_forked_from_a_task_with_another_input(site: Site, page: Page) -> None:
    site.push("forked", flows.failing())
    run_id = site.start("forked", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~second.2")
    page.get_by_role("complementary").get_by_role("button", name="Fork").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("second.2")
    given = dialog.get_by_role("textbox", name="Input")
    expect(given).to_contain_text("abc")
    given.fill("[3,")
    expect(dialog.get_by_role("button", name="Fork")).to_be_disabled()
    given.fill("[3, 4]")
    dialog.get_by_role("button", name="Fork").click()
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()
    forked = re.search("/runs/([^?]+)", page.url)
    assert forked is not None
    assert forked[1] != run_id
    tasks = site.http.get(f"/api/v1/runs/{forked[1]}/tasks").json()["items"]
    done = {task["node"]: task["output"] for task in tasks if task["state"] == "succeeded"}
    assert done["second"] == 7
    assert done["first"], "what came before is kept"
    assert site.run(run_id)["state"] == "failed", "the run it was forked from stays as it is"


def test_events_stand_by_attempt_and_open(site: Site, page: Page) -> None:
    site.push("told", flows.retried("told", 3))
    hand = HandWorker(site.http, "told")
    run_id = site.start("told", {"x": 1})
    hand.fail(hand.take(), "stumbled")
    second = hand.take()
    page.goto(f"{site.url}/runs/{run_id}?view=events")
    log = page.get_by_role("log", name="Events")
    groups = log.locator("[data-attempt-events]")
    expect(groups).to_have_count(2)
    expect(groups.last).to_contain_text("work.1 #1")
    expect(groups.last).to_contain_text("failed")
    expect(log.get_by_text("attempt.failed")).to_have_count(0)
    groups.last.get_by_role("button", name="work.1 #1", expanded=False).click()
    expect(log.get_by_text("attempt.failed")).to_be_visible()
    log.get_by_role("button", name="Event 3").click()
    expect(log).to_contain_text("stumbled")
    hand.finish(second, 1)
    expect(groups.first).to_contain_text("succeeded")
    page.get_by_role("button", name="One by one").click()
    expect(groups).to_have_count(0)
    expect(log.get_by_text("attempt.claimed")).to_have_count(2)


def test_the_second_line_of_a_card_says_only_what_has_room(site: Site, page: Page) -> None:
    site.push("short", flows.failing())
    run_id = site.start("short", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    site.http.post(f"/api/v1/runs/{run_id}/retry", json={})
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    card = page.locator("[data-node=second]")
    expect(card).to_contain_text("#2")
    expect(card).to_have_attribute("data-state", "failed")
    expect(card).not_to_contain_text("bad input")
    expect(page.locator("[data-why]")).to_contain_text("bad input")


def test_a_task_that_is_picked_is_in_view_beside_its_details(site: Site, page: Page) -> None:
    site.push("picked", flows.failing())
    run_id = site.start("picked", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(f"{site.url}/runs/{run_id}?view=dag&task={run_id}~second.2")
    card, graph = page.locator("[data-node=second]"), page.locator("[data-graph]")
    expect(card).to_be_visible()
    page.wait_for_timeout(500)
    inner, outer = card.bounding_box(), graph.bounding_box()
    assert inner is not None
    assert outer is not None
    assert inner["x"] >= outer["x"]
    assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
