"""What people do with runs, in a real browser against a real server."""

import json
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site

pytestmark = pytest.mark.browser


def live(page: Page) -> None:
    expect(page.locator("[data-link=live]")).to_be_visible()


def test_a_flow_with_an_approval_is_started_watched_and_approved(site: Site, page: Page) -> None:
    site.push("review", flows.review())
    page.goto(f"{site.url}/flows/review")
    page.get_by_role("button", name="New run").click()
    page.get_by_label("pages").fill("[1, 2, 3]")
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    page.wait_for_url("**/runs/*")
    # No reload from here on: what follows came by the stream.
    expect(page.locator("[data-node=publish_ok]")).to_have_attribute("data-state", "waiting")
    expect(page.locator("[data-node=fetch]")).to_contain_text("\u00d73 ✓3")
    expect(page.locator("[data-why]")).to_contain_text("waits for a person to answer")
    expect(page.locator("[data-node=discard]")).to_contain_text("not reached")
    run_id = page.url.rpartition("/")[2].partition("?")[0]
    second = page.context.new_page()
    second.goto(f"{site.url}/inbox")
    second.get_by_role("button", name="Publish the pages?").first.click()
    second.get_by_label("Note").fill("looks fine")
    second.get_by_role("button", name="Approve").click()
    expect(second.locator("[data-toast]").filter(has_text="Answered")).to_be_visible()
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()
    expect(page.locator("[data-node=publish]")).to_have_attribute("data-state", "succeeded")
    answer = site.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"][0]
    assert (answer["answer"], answer["note"]) == ("approved", "looks fine")


def test_why_says_that_the_worker_is_gone(site: Site, page: Page) -> None:
    site.push("need-worker", flows.queued("transform"))
    site.worker.kill()
    run_id = site.start("need-worker", {"x": 3})
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.locator("[data-why]")).to_contain_text("is queued")
    site.http.delete("/api/v1/workers/w-one")
    page.reload()
    expect(page.locator("[data-why]")).to_contain_text('no live pull worker serves "transform"')
    site.worker.start()
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible(timeout=30_000)


def test_a_failed_task_is_retried_from_its_card(site: Site, page: Page) -> None:
    site.push("failing", flows.failing())
    run_id = site.start("failing", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs/{run_id}")
    live(page)
    card = page.locator("[data-node=second]")
    expect(card).to_have_attribute("data-state", "failed")
    card.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("reopened once")).to_be_visible()
    expect(card).to_have_attribute("data-state", "failed")
    card.get_by_role("button", name="second").click()
    page.get_by_role("button", name="Attempts").click()
    aside = page.get_by_role("complementary")
    expect(aside.get_by_text("#2", exact=True).first).to_be_visible()
    expect(aside.get_by_role("heading", name="Difference")).to_be_visible()
    assert "tab=attempts" in page.url


def test_retry_from_here_lists_what_it_redoes(site: Site, page: Page) -> None:
    site.push("failing", flows.failing())
    run_id = site.start("failing", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs/{run_id}?view=list")
    page.get_by_role("row").filter(has_text="first").click()
    page.get_by_role("button", name="Retry from here").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("second.2")
    dialog.get_by_role("button", name="Retry from here").click()
    expect(page.get_by_text("reopened once")).to_be_visible()


def test_many_runs_are_cancelled_at_once_with_their_count(site: Site, page: Page) -> None:
    site.push("hold-many", flows.wait_for("never"))
    ids = [site.start("hold-many") for _ in range(12)]
    page.goto(f"{site.url}/runs?q=flow%3Ahold-many+status%3Awaiting")
    expect(page.get_by_text("12 match")).to_be_visible()
    page.get_by_role("button", name="Cancel all 12").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 12").click()
    expect(page.get_by_text("12 done, 0 refused")).to_be_visible()
    for run_id in ids:
        site.wait(run_id, "cancelled")
    page.goto(f"{site.url}/runs?q=flow%3Ahold-many+status%3Awaiting")
    expect(page.get_by_text("No run matches")).to_be_visible()


def test_a_cut_stream_loses_no_event(site: Site, page: Page) -> None:
    site.push("many-events", flows.loop_of_events(300))
    run_id = site.start("many-events", {"items": list(range(300))})
    page.goto(f"{site.url}/runs/{run_id}?view=events")
    live(page)
    # Of a run that is far when the page opens only the last part is read, the rest on demand.
    expect(page.locator("[data-seq='1']")).to_be_visible()
    page.evaluate("window.windlass.cut()")
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
    page.evaluate("window.windlass.cut()")
    site.wait(run_id, "succeeded")
    seq = site.run(run_id)["seq"]
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible(timeout=20_000)
    expect(page.locator(f"[data-seq='{seq}']")).to_be_visible()
    live(page)
    expect(page.locator(f"[data-events='{seq}']")).to_be_attached()
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("row").filter(has_text="each")).to_contain_text("\u00d7300 ✓300")


def test_eight_tabs_share_one_stream(site: Site, context: BrowserContext) -> None:
    site.push("tabs", flows.wait_for("tab"))
    run_id = site.start("tabs")
    pages = [context.new_page() for _ in range(8)]
    for page in pages:
        page.goto(f"{site.url}/runs/{run_id}")
        live(page)
        expect(page.locator("[data-run-state=waiting]")).to_be_visible()
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "tab", "value": 1})
    for page in pages:
        expect(page.locator("[data-run-state=succeeded]")).to_be_visible()


def test_the_list_moves_by_itself_and_new_runs_wait_behind_a_button(site: Site, page: Page) -> None:
    site.push("moving", flows.wait_for("move"))
    run_id = site.start("moving")
    page.goto(f"{site.url}/runs?q=flow%3Amoving")
    live(page)
    row = page.locator(f"[data-run='{run_id}']")
    expect(row).to_contain_text("waiting")
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "move", "value": 1})
    expect(row).to_contain_text("succeeded")
    site.start("moving")
    page.get_by_role("button", name="1 new").click()
    expect(page.locator("[data-run]")).to_have_count(2)


def test_a_bad_filter_is_explained_before_it_is_sent(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/runs")
    live(page)
    page.keyboard.press("/")
    page.keyboard.type("colour:red")
    expect(page.get_by_role("alert")).to_contain_text('no filter "colour:"')


def test_a_definition_with_problems_is_marked_where_they_are(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/flows")
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("Flow", exact=True).fill("uploaded")
    text = "start: a\nnodes:\n  a:\n    kind: nonsense\nedges: []\n"
    page.get_by_label("Definition").fill(text)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("alert")).to_contain_text("line 4")
    good = json.dumps(flows.wait_for("x"), indent=2)
    page.get_by_label("Definition").fill(good)
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/flows/uploaded?version=1")
    expect(page.locator("[data-node=hold]")).to_be_visible()


def test_the_keyboard_is_enough(site: Site, page: Page) -> None:
    site.push("failing", flows.failing())
    run_id = site.start("failing", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs?q=flow%3Afailing")
    expect(page.locator("[data-run]").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    expect(page.locator("[data-run-state=failed]")).to_be_visible()
    banner = page.locator("[data-banner=failed]")
    expect(banner).to_contain_text('Failed in "second": ')
    expect(banner.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.locator("[data-node=second]")).to_be_visible()
    page.keyboard.press(".")
    expect(page.get_by_role("complementary")).to_contain_text("second")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_contain_text("Recent runs")
    page.keyboard.type("workers")
    page.keyboard.press("Enter")
    page.wait_for_url("**/workers")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")


@pytest.mark.alone
def test_a_run_of_ten_thousand_tasks_stays_responsive_and_opens_quickly(
    site: Site, page: Page
) -> None:
    site.push("large", flows.loop_of_events(10_000))
    assert least(lambda: slowest_task(site, page), 100) <= 100
    run_id = site.http.get("/api/v1/runs", params={"q": "flow:large"}).json()["items"][0]["id"]
    assert least(lambda: opening_s(site, page, run_id), 2.5) <= 2.5
    assert least(lambda: first_paint_s(site, page, run_id), 1) < 1


def least(measure: Callable[[], float], enough: float) -> float:
    """The best of three: the machine may be busy with something else at first."""
    found = measure()
    for _ in range(2):
        if found > enough:
            found = min(found, measure())
    return found


def slowest_task(site: Site, page: Page) -> float:
    """The longest the page was busy at a stretch, in ms, while 20,000 events came in."""
    run_id = site.start("large", {"items": list(range(10_000))})
    page.goto(f"{site.url}/runs/{run_id}")
    live(page)
    expect(page.locator("[data-node=gate]")).to_be_visible()
    page.evaluate(
        """() => {
            window.longest = 0
            new PerformanceObserver((list) => {
                for (const task of list.getEntries())
                    window.longest = Math.max(window.longest, task.duration)
            }).observe({ type: 'longtask' })
        }"""
    )
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-node=each]")).to_contain_text("\u00d710000 ✓10000")
    return float(page.evaluate("window.longest"))


def opening_s(site: Site, page: Page, run_id: str) -> float:
    page.goto(f"{site.url}/settings")
    live(page)
    began = time.monotonic()
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.locator("[data-node=each]")).to_contain_text("\u00d710000 ✓10000")
    return time.monotonic() - began


def first_paint_s(site: Site, page: Page, run_id: str) -> float:
    """When somebody who opens the run sees anything of it, by the browser's own clock."""
    opening_s(site, page, run_id)
    painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
    return float(page.evaluate(painted))
