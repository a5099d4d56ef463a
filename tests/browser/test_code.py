"""Code on pages: definitions and differences, in an editor the page's policy lets in."""

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site

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
