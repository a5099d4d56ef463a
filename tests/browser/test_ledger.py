"""What attempts do outside, who allows it, and the blackboard: on the page of a run."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.browser.flows import wait_for
from tests.hand import HandWorker

pytestmark = pytest.mark.browser


def started_plan(site: Site, profile: str, goal: str) -> str:
    one = {"alias": "pay", "goal": "pay the invoice", "worker_profile": profile}
    body = {"dialect": "plan", "goal": goal, "plan": {"tasks": [one]}}
    return str(site.http.post("/api/v1/runs", json=body).json()["id"])


def test_an_action_is_seen_while_it_runs_and_allowed_by_a_token(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "payer-by-hand")
    run_id = started_plan(site, "payer-by-hand", "pay what is owed")
    page.goto(f"{site.url}/runs/{run_id}")
    page.get_by_role("button", name="Actions", exact=True).click()
    expect(page.get_by_text("Nothing has been done outside yet")).to_be_visible()
    attempt = worker.take()
    looked = worker.begin_action(attempt, "look_up", "external_read", input={"invoice": 4711})
    row = page.locator("tr[data-action=look_up]")
    expect(row.get_by_text("running")).to_be_visible()
    worker.end_action(attempt, looked, {"owed": 12})
    expect(row.get_by_text("completed")).to_be_visible()
    row.click()
    expect(page.get_by_label("Output")).to_contain_text('"owed": 12')

    worker.renew(attempt)
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Allow")).to_be_disabled()
    dialog.get_by_label("Reason").fill("invoice checked")
    worker.renew(attempt)
    dialog.get_by_label("How long it counts").select_option("For an hour")
    dialog.get_by_role("button", name="Allow").click()
    token = dialog.locator("[data-approval-token]").inner_text()
    dialog.get_by_role("button", name="Done").click()
    worker.renew(attempt)
    expect(page.get_by_text(token)).to_have_count(0)
    given = page.get_by_role("region", name="Approvals")
    expect(given.get_by_text("invoice checked")).to_be_visible()
    expect(given.get_by_role("button", name="Revoke")).to_be_visible()

    worker.begin_action(attempt, "transfer", "external_irreversible", approvalToken=token)
    worker.renew(attempt)
    expect(page.locator("tr[data-action=transfer]")).to_contain_text("cannot be undone")
    expect(given.locator("[data-approval=consumed]")).to_be_visible()
    expect(given.get_by_role("button", name="Revoke")).to_have_count(0)
    # The attempt is over and never said how the transfer went.
    worker.finish(attempt, {"paid": "perhaps"})
    expect(page.locator("tr[data-state=unknown]")).to_contain_text("may have happened")
    page.get_by_role("button", name="completed", exact=True).click()
    expect(page.locator("tr[data-action=transfer]")).to_have_count(0)
    expect(row).to_be_visible()


def test_an_approval_nobody_has_used_is_taken_back(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "revoked-by-hand")
    run_id = started_plan(site, "revoked-by-hand", "pay later")
    path = f"/api/v1/runs/{run_id}/tasks/pay/approvals"
    assert site.http.post(path, json={"reason": "too early"}).status_code == 201
    page.goto(f"{site.url}/runs/{run_id}?view=actions")
    given = page.get_by_role("region", name="Approvals")
    given.get_by_role("button", name="Revoke").click()
    expect(given.locator("[data-approval=revoked]")).to_be_visible()
    worker.finish(worker.take(), {"paid": False})


def test_the_blackboard_shows_its_keys_values_and_what_stood_there(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "board-by-hand")
    run_id = started_plan(site, "board-by-hand", "count the pages")
    page.goto(f"{site.url}/runs/{run_id}")
    page.get_by_role("button", name="Blackboard", exact=True).click()
    keys = page.get_by_role("navigation", name="Entries")
    keys.get_by_role("button", name="context.goal").click()
    value = page.get_by_role("region", name="Value")
    expect(value.get_by_label("Revision")).to_contain_text("count the pages")
    attempt = worker.take()
    worker.put_on_board(attempt, "progress.pages", {"read": 1})
    keys.get_by_role("button", name="progress.pages").click()
    expect(value.get_by_role("textbox", name="Revision")).to_contain_text('"read": 1')
    expect(value.get_by_text("hand-board-by-hand")).to_be_visible()
    worker.renew(attempt)
    worker.put_on_board(attempt, "progress.pages", {"read": 2})
    expect(value.get_by_role("textbox", name="Revision")).to_contain_text('"read": 2')
    changed = value.get_by_role("region", name="Difference")
    expect(changed.locator(".cm-deletedChunk")).to_contain_text('"read": 1')
    expect(changed.locator(".cm-changedLine")).to_contain_text('"read": 2')
    value.locator("[data-revision]").last.click()
    expect(changed).to_have_count(0)
    expect(value.get_by_role("textbox", name="Revision")).to_contain_text('"read": 1')
    worker.renew(attempt)
    worker.finish(attempt, {"pages": 2})
    expect(keys.get_by_role("button", name="result.summary")).to_be_visible()


def test_a_run_that_did_nothing_outside_has_no_such_views(site: Site, page: Page) -> None:
    site.push("nothing-outside", wait_for("outside"))
    page.goto(f"{site.url}/runs/{site.start('nothing-outside')}")
    views = page.get_by_role("group", name="View")
    expect(views.get_by_role("button", name="Data")).to_be_visible()
    expect(views.get_by_role("button", name="Actions")).to_have_count(0)
    expect(views.get_by_role("button", name="Blackboard")).to_have_count(0)


def test_an_agent_is_watched_while_it_thinks_and_calls_its_tools(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "watched-by-hand")
    run_id = started_plan(site, "watched-by-hand", "pay while somebody looks")
    attempt = worker.take()
    page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~plan.0~pay.0")
    expect(page.get_by_role("heading", name="pay while somebody looks")).to_be_visible()
    aside = page.get_by_role("complementary", name="Task")
    expect(aside.get_by_role("heading", name="pay", exact=True)).to_be_visible()
    thought = "… which account is it?\n"
    worker.say(attempt, thought)
    expect(aside.locator("[data-voice=thought]")).to_contain_text("which account is it?")
    worker.say(attempt, '→ look_up {"invoice":4711}\n', len(thought))
    expect(aside.locator("[data-voice=call]")).to_contain_text("look_up")
    looked = worker.begin_action(attempt, "look_up", "external_read", input={"invoice": 4711})
    tool = aside.get_by_role("listitem").filter(has=page.locator("[data-tool=look_up]")).last
    expect(tool).to_contain_text("reads outside")
    expect(tool).to_contain_text("running")
    worker.end_action(attempt, looked, {"owed": 12})
    expect(tool).to_contain_text("completed")
    tool.get_by_role("button", name="look_up").click()
    expect(tool).to_contain_text('"owed": 12')
    worker.renew(attempt)
    worker.finish(attempt, {"paid": True})
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()
