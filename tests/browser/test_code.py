"""Code on pages: definitions, differences and logs, in an editor the page's policy lets in."""

import re

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site
from tests.hand import HandWorker

pytestmark = pytest.mark.browser


def test_a_definition_is_shown_in_an_editor_with_its_own_styles(site: Site, page: Page) -> None:
    said: list[str] = []

    def keep(message: ConsoleMessage) -> None:
        said.append(message.text)

    page.on("console", keep)
    site.push("coded", flows.wait_for("never"))
    page.goto(f"{site.url}/flows/coded?tab=definition")
    editor = page.locator(".cm-editor")
    expect(editor).to_be_visible()
    expect(page.get_by_label("coded@1")).to_contain_text('"start"')
    # Without its style element lines would not be laid out at all.
    assert editor.evaluate("node => getComputedStyle(node).display") == "flex"
    assert not [text for text in said if "Content Security Policy" in text]


def test_versions_are_compared_inline_and_split_with_counted_folds(site: Site, page: Page) -> None:
    nodes = {f"n{n}": {"kind": "timer", "params": {"delay_ms": 1}} for n in range(12)}
    edges = [{"from": f"n{n}", "to": f"n{n + 1}"} for n in range(11)]
    definition = {"start": "n0", "nodes": nodes, "edges": edges}
    site.push("compared", definition)
    nodes["n6"] = {"kind": "timer", "params": {"delay_ms": 7}}
    site.push("compared", definition)
    page.goto(f"{site.url}/flows/compared?tab=diff&version=2&against=1")
    expect(page.locator("[data-diff=inline]")).to_contain_text("unchanged lines")
    expect(page.locator("[data-diff=inline] .cm-deletedChunk")).to_contain_text('"delay_ms": 1')
    page.get_by_role("button", name="Split").click()
    expect(page.locator("[data-diff=split] .cm-editor")).to_have_count(2)
    expect(page.locator("[data-diff=split]")).to_contain_text("unchanged lines")
    expect(page.locator("[data-diff=split] .cm-merge-b")).to_contain_text('"delay_ms": 7')


def test_somebody_who_types_keeps_the_place_when_the_grammar_changes(
    site: Site, page: Page
) -> None:
    page.goto(f"{site.url}/flows")
    page.get_by_role("button", name="Upload").click()
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.type("start: a")
    expect(editor).to_have_text("start: a")
    expect(editor).to_be_focused()


def test_colours_of_a_program_s_log_are_shown_and_not_its_codes(site: Site, page: Page) -> None:
    site.push("coloured", flows.wait_for("never"))
    run_id = site.start("coloured")
    site.wait(run_id, "waiting")
    attempt = {
        "id": "a",
        "runId": run_id,
        "taskId": f"{run_id}~hold.0",
        "number": 1,
        "state": "succeeded",
        "workerId": "w",
        "claimedAt": 1,
        "log": "\x1b[31mbroken\x1b[0m and \x1b[32mmended\x1b[0m",
    }
    page.route("**/attempts?*", lambda route: route.fulfill(json={"items": [attempt]}))
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    log = page.get_by_label("Log", exact=True)
    expect(log).to_have_text("broken and mended")
    expect(log.locator(".text-bad")).to_have_text("broken")


def test_a_log_is_followed_narrowed_to_what_is_serious_and_kept(site: Site, page: Page) -> None:
    site.push("serious", flows.queued("serious"))
    hand = HandWorker(site.http, "serious")
    run_id = site.start("serious", {"x": 1})
    attempt = hand.take()
    first = "".join(f"INFO line {n}\n" for n in range(200))
    hand.say(attempt, first)
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    text = page.get_by_label("Log", exact=True)
    expect(text.get_by_text("INFO line 199")).to_be_in_viewport()
    worse = "WARNING low on ink\nValueError: out of paper\n"
    hand.say(attempt, worse, len(first))
    expect(text.get_by_text("out of paper")).to_be_in_viewport()
    page.get_by_role("button", name="Warnings").click()
    expect(text).to_have_text(re.compile("^WARNING low on inkValueError: out of paper$"))
    page.get_by_role("button", name="Errors").click()
    expect(text).to_have_text("ValueError: out of paper")
    with page.expect_download() as kept:
        page.get_by_role("button", name="Download").click()
    assert "INFO line 7" in kept.value.path().read_text()
    hand.finish(attempt, 1)
