"""Lists, the inbox and addresses: what is chosen, counted, offered and found."""

import re
import time
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site

pytestmark = pytest.mark.browser

DAY_MS = 86_400_000


def live(page: Page) -> None:
    expect(page.locator("[data-link=live]")).to_be_visible()


def test_every_run_that_is_ticked_is_selected(site: Site, page: Page) -> None:
    site.push("ticked", flows.wait_for("tick"))
    ids = [site.start("ticked") for _ in range(4)]
    page.goto(f"{site.url}/runs?q=flow%3Aticked")
    for run_id in ids[:3]:
        page.get_by_label(f"Select {run_id}").check()
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.get_by_label(f"Select {ids[1]}").uncheck()
    expect(page.get_by_text("2 selected")).to_be_visible()
    # A checkbox is large enough to hit.
    box = page.get_by_label(f"Select {ids[3]}").bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 16
    page.get_by_role("button", name="Cancel 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 2").click()
    site.wait(ids[0], "cancelled")
    site.wait(ids[2], "cancelled")
    assert site.run(ids[1])["state"] == "waiting"


def test_new_runs_are_counted_only_within_the_filter(site: Site, page: Page) -> None:
    site.push("inside", flows.wait_for("in"))
    site.push("outside", flows.wait_for("out"))
    site.start("inside")
    page.goto(f"{site.url}/runs?q=flow%3Ainside")
    live(page)
    expect(page.locator("[data-run]")).to_have_count(1)
    everything = page.context.new_page()
    everything.goto(f"{site.url}/runs")
    live(everything)
    expect(everything.locator("[data-run]").first).to_be_visible()
    for _ in range(3):
        site.start("outside")
    site.start("inside")
    # All four have been told of by now, to every tab.
    expect(everything.get_by_role("button", name="4 new")).to_be_visible()
    expect(page.get_by_role("button", name="1 new")).to_be_visible()
    expect(page.get_by_role("button", name="4 new")).to_have_count(0)


def test_only_what_makes_sense_is_offered_for_all(site: Site, page: Page) -> None:
    site.push("failing-all", flows.failing())
    run_id = site.start("failing-all", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs?q=flow%3Afailing-all+status%3Afailed")
    expect(page.get_by_role("button", name="Retry all 1")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Cancel all"))).to_have_count(0)


def test_the_inbox_says_how_long_there_is(site: Site, page: Page) -> None:
    site.push("in-a-day", flows.asking("Within a day?", DAY_MS))
    site.start("in-a-day")
    page.goto(f"{site.url}/inbox")
    row = page.get_by_role("list", name="Inbox").get_by_role("button", name="Within a day?")
    expect(row).to_contain_text(re.compile(r"expires (in 24 hr|in 23 hr|tomorrow)"))
    expect(page.get_by_role("button", name="Waiting", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )


def test_on_a_phone_an_inbox_item_opens_and_fits(site: Site, browser: Browser) -> None:
    prompt = f"Refund {'x' * 120}?"
    site.push("phone", flows.asking(prompt, DAY_MS))
    run_id = site.start("phone")
    site.wait(run_id, "waiting")
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{site.url}/inbox")
    row = page.get_by_role("list", name="Inbox").get_by_role("button", name="Refund")
    expect(row).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_role("main").evaluate("(main) => main.scrollWidth") <= 390
    row.tap()
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_in_viewport()
    expect(row).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Back to the list").tap()
    expect(row).to_be_visible()
    row.tap()
    approve.tap()
    site.wait(run_id, "succeeded")
    context.close()


def test_unknown_addresses_are_pages_of_ours(site: Site, page: Page) -> None:
    for path, said, way in (
        ("/nope", "There is nothing at this address", "Overview"),
        ("/nope/deeper", "There is nothing at this address", "Overview"),
        ("/flows/xyz", "No flow is called xyz", "All flows"),
        ("/runs/xyz", "No run is called xyz", "All runs"),
        ("/runs/00000000-0000-7000-8000-000000000000", "No run is called 0000", "All runs"),
        ("/packages/xyz", "No package is called xyz", "All packages"),
    ):
        page.goto(site.url + path)
        expect(page.get_by_role("heading", name=said)).to_be_visible()
        expect(page.get_by_role("main").get_by_role("link", name=way)).to_be_visible()
    # Who asks for no page keeps the answer there has always been.
    assert site.http.get("/nope").json()
    assert site.http.get("/nope", headers={"Accept": "text/html"}).status_code == 404
    assert site.http.get("/api/v1/nope", headers={"Accept": "text/html"}).json()


def test_the_list_of_flows_has_their_descriptions(site: Site, page: Page) -> None:
    site.push("told", {"description": "Waits for a word.", **flows.wait_for("word")})
    page.goto(f"{site.url}/flows?q=told")
    expect(page.get_by_role("row").filter(has_text="told")).to_contain_text("Waits for a word.")
    site.push("told", {"description": "Waits for two words.", **flows.wait_for("word")})
    page.reload()
    expect(page.get_by_role("row").filter(has_text="told")).to_contain_text("two words")


def test_a_corrected_definition_carries_no_old_errors(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/flows")
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("Definition").fill("start: a\nnodes: {}\nedges: []\n")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("File").set_input_files(
        {"name": "other.yaml", "mimeType": "text/yaml", "buffer": b"start: b\n"}
    )
    expect(page.get_by_label("Definition")).to_have_text("start: b")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_chinese_words_and_times_are_right(site: Site, page: Page) -> None:
    page.add_init_script("localStorage.setItem('windlass.prefs', '{\"language\":\"zh\"}')")
    page.goto(f"{site.url}/inbox")
    expect(page.get_by_role("heading", name="收件箱")).to_be_visible()
    shown = page.get_by_role("main").get_by_role("button", pressed=True)
    expect(shown.first).to_have_text("等待中")
    expect(page.get_by_role("main")).not_to_contain_text("打开")
    site.push("zh", flows.wait_for("zh"))
    run_id = site.start("zh")
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.get_by_role("time").first).to_have_text(re.compile(r"^\d\d:\d\d:\d\d UTC$"))
    # Seen some days later, the date comes first: month, day, time.
    page.clock.install(time=time.time() + 3 * DAY_MS / 1000)
    page.reload()
    expect(page.get_by_role("time").first).to_have_text(
        re.compile(r"^\d{1,2}月\d{1,2}日 ?\d\d:\d\d:\d\d UTC$")
    )


@pytest.mark.parametrize(
    "wrong", ["colour:red", "status:nope", "-flow:x", "started:yesterday", 'error:"open']
)
def test_what_is_wrong_with_a_filter_is_said_in_chinese(site: Site, page: Page, wrong: str) -> None:
    page.add_init_script("localStorage.setItem('windlass.prefs', '{\"language\":\"zh\"}')")
    page.goto(f"{site.url}/runs?{urlencode({'q': wrong})}")
    said = page.get_by_role("alert").first
    expect(said).to_contain_text(re.compile(r"[\u4e00-\u9fff]{3}"))
    # Names of filters and states stay as they are typed; no English sentence is around them.
    english = r"\b(no|not|is|are|the|there|cannot|needs|only|such as|close)\b"
    assert not re.search(english, said.inner_text()), said.inner_text()


@pytest.mark.parametrize("place", ["/runs", "/settings"])
def test_checkboxes_are_large_enough_to_hit(site: Site, page: Page, place: str) -> None:
    site.push("boxed", flows.wait_for("never"))
    site.start("boxed")
    page.goto(site.url + place)
    boxes = page.get_by_role("checkbox")
    expect(boxes.first).to_be_visible()
    for box in boxes.all():
        size = box.bounding_box()
        assert size is not None
        assert min(size["width"], size["height"]) >= 16


def test_a_question_shows_the_path_that_led_to_it(site: Site, page: Page) -> None:
    site.push("led-to", flows.review())
    run_id = site.start("led-to", {"pages": [1, 2]})
    site.wait(run_id, "waiting")
    [asked] = site.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
    page.goto(f"{site.url}/inbox?id={asked['id']}")
    path = page.get_by_role("list", name="The path so far").get_by_role("listitem")
    expect(path).to_have_text(["fetch", "publish_ok"])


def test_on_a_phone_the_tab_that_is_chosen_is_in_view(site: Site, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{site.url}/settings?tab=audit")
    chosen = page.get_by_role("button", name="Audit trail")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_be_in_viewport(ratio=0.95)
    context.close()
