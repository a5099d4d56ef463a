"""What operators do in the UI: replay dead letters, change limits, add users, steer plans."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import flows
from tests.browser.conftest import Site
from tests.browser.seed import plan_task, waiting_for
from tests.hand import HandWorker
from windlass.testing.processes import wait_until

pytestmark = pytest.mark.browser


def failed_for_good(site: Site, flow: str) -> tuple[HandWorker, str]:
    """A run that leaves a dead letter, and whoever failed it."""
    worker = HandWorker(site.http, f"{flow}-service")
    site.push(flow, flows.queued(f"{flow}-service"))
    run_id = site.start(flow, {"x": 1})
    worker.fail(worker.take(), "no such address")
    site.wait(run_id, "failed")
    return worker, run_id


def test_a_dead_letter_is_looked_at_and_replayed(site: Site, page: Page) -> None:
    worker, run_id = failed_for_good(site, "post")
    page.goto(f"{site.url}/dead-letters?flow=post")
    page.locator("[data-letter]").get_by_role("button", name="work").click()
    letter = page.get_by_role("complementary", name="Dead letter")
    expect(letter).to_contain_text("no such address")
    expect(letter.locator("[data-next-move=replay]")).to_be_visible()
    letter.get_by_role("button", name="Replay").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.locator("[data-toast]")).to_contain_text("1 done, 0 refused")
    expect(page.get_by_text("No dead letter fits the filter.")).to_be_visible()
    worker.finish(worker.take(), {"posted": True})
    site.wait(run_id, "succeeded")


def test_what_to_do_with_a_dead_letter_is_said_in_chinese_too(site: Site, page: Page) -> None:
    failed_for_good(site, "address")
    page.add_init_script("localStorage.setItem('windlass.prefs', '{\"language\":\"zh\"}')")
    page.goto(f"{site.url}/dead-letters?flow=address")
    page.locator("[data-letter]").get_by_role("button", name="work").click()
    expect(page.locator("[data-next-move=replay]")).to_have_text("原因消除后再重放。")


def test_dead_letters_are_dropped_by_their_filter(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "dropping")
    site.push("droppable", flows.queued("dropping"))
    runs = [site.start("droppable", {"x": n}) for n in range(3)]
    for _ in runs:
        worker.fail(worker.take(), "gone")
    for run_id in runs:
        site.wait(run_id, "failed")
    page.goto(f"{site.url}/dead-letters?flow=droppable")
    expect(page.locator("[data-letter]")).to_have_count(3)
    page.get_by_role("button", name="Drop all 3").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop").click()
    expect(page.locator("[data-letter]")).to_have_count(0)
    answer = site.http.get("/api/v1/dead-letters", params={"flow": "droppable"})
    assert answer.json()["items"] == []


def test_a_limit_is_changed_and_the_run_that_waited_goes_on(site: Site, page: Page) -> None:
    flow = flows.queued("transform")
    flow["nodes"]["work"]["limits"] = [{"key": "gate:one", "max": 1}]
    site.push("gated", flow)
    site.http.put("/api/v1/limit-rules", json={"pattern": "gate:one", "max": 0})
    run_id = site.start("gated", {"x": 2})
    wait_until(lambda: waiting_for(site, "gate:one") == 1)
    page.goto(f"{site.url}/limits?q=gate")
    row = page.locator("[data-limit='gate:one']")
    expect(row).to_contain_text("0 / 0")
    row.get_by_role("button", name="Change gate:one").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Key")).to_have_value("gate:one")
    dialog.get_by_label("At once").fill("2")
    dialog.get_by_role("button", name="Set rule").click()
    expect(page.locator("[data-rule='gate:one']")).to_contain_text("At once 2")
    site.wait(run_id, "succeeded")
    page.get_by_role("button", name="Remove gate:one").click()
    expect(page.locator("[data-rule='gate:one']")).to_have_count(0)


def test_a_quota_is_raised_and_the_run_that_was_queued_begins(site: Site, page: Page) -> None:
    site.push("asks", flows.asking("Go on?", 60_000))
    rule = {"pattern": "quota:runs@paint", "max": 1}
    assert site.http.put("/api/v1/limit-rules", json=rule).status_code == 200
    first, second = (site.start("asks", project="paint") for _ in range(2))
    site.wait(first, "waiting")
    page.goto(f"{site.url}/runs/{second}")
    why = "Waits to begin: quota of project paint: 1 of 1 runs in use, 0 ahead of it"
    expect(page.locator("[data-why]")).to_contain_text(why)
    page.goto(f"{site.url}/limits?q=quota")
    row = page.locator("[data-limit='quota:runs@paint']")
    expect(row.get_by_role("link", name="1")).to_have_attribute(
        "href", re.compile("status%3Aqueued")
    )
    row.get_by_role("button", name="Change quota:runs@paint").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Rate")).to_have_count(0)
    dialog.get_by_label("At once").fill("2")
    dialog.get_by_role("button", name="Set rule").click()
    site.wait(second, "waiting")
    expect(row.get_by_role("meter")).to_have_attribute("aria-valuenow", "2")
    page.get_by_role("button", name="Remove quota:runs@paint").click()
    expect(page.locator("[data-rule='quota:runs@paint']")).to_have_count(0)


def test_a_user_is_added_and_disabled_and_the_audit_trail_tells(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/settings?tab=users")
    page.get_by_role("button", name="Add a user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("User name").fill("grace")
    dialog.get_by_label("Password").fill("a long pass phrase")
    dialog.get_by_label("Role").select_option("workflow.editor")
    dialog.get_by_role("button", name="Add", exact=True).click()
    row = page.locator("[data-user=grace]")
    expect(row).to_contain_text("workflow.editor")
    row.get_by_role("button", name="Disable grace").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    page.get_by_role("button", name="Audit trail").click()
    expect(page.locator("[data-audit='user.create']").first).to_be_visible()


def test_a_plan_shows_its_revisions_and_takes_a_hint(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "railed")
    tasks = [task("gather"), task("write", "gather")]
    body = {"dialect": "plan", "goal": "A report", "plan": {"tasks": tasks}}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    new = [task("gather"), task("check", "gather"), task("write", "check")]
    done = {"status": "completed", "request_replan": True, "child_tasks": new}
    worker.finish(worker.take(), done)
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    rail = page.get_by_role("region", name="Plan")
    expect(rail).to_contain_text("A report")
    second = rail.locator("[data-revision='2']")
    expect(second).to_contain_text("added: check")
    expect(second).to_contain_text("superseded: write")
    rail.locator("[data-revision='1']").click()
    expect(page.locator("[data-node='plan/check']")).to_have_count(0)
    second.click()
    expect(page.locator("[data-node='plan/check']")).to_be_visible()
    rail.get_by_label("Tell the plan").fill("Only the last ten years")
    rail.get_by_role("button", name="Send").click()
    expect(page.locator("[data-toast]")).to_contain_text("Hint sent")


def test_a_run_is_started_with_declared_parameters_and_seen_in_the_grid(
    site: Site, page: Page
) -> None:
    params = {
        "properties": {
            "val": {"type": "integer", "description": "What to multiply."},
            "tier": {"enum": ["small", "large"], "default": "small"},
        },
        "required": ["val"],
    }
    nodes = {"times": {"kind": "timer", "params": {"delay_ms": 1}}}
    site.push("declared", {"params": params, "start": "times", "nodes": nodes, "edges": []})
    page.goto(f"{site.url}/flows/declared")
    page.get_by_role("button", name="New run").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("What to multiply.")
    dialog.get_by_label("val *").fill("7")
    dialog.get_by_label("tier").select_option("large")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/runs/*")
    run_id = page.url.rsplit("/", 1)[1].partition("?")[0]
    assert site.run(run_id)["params"] == {"val": 7, "tier": "large"}
    page.goto(f"{site.url}/flows/declared?tab=grid")
    expect(page.locator("[data-grid-row=times]").get_by_role("link")).to_have_count(1)
    page.get_by_role("button", name="New run").click()
    dialog.get_by_role("button", name="Copy from last run").click()
    expect(dialog.get_by_label("val *")).to_have_value("7")


def task(alias: str, *needs: str) -> dict[str, Any]:
    return plan_task(alias, *needs) | {"worker_profile": "railed"}


def test_an_operator_switches_to_another_tenant_and_back(site: Site, page: Page) -> None:
    site.http.post("/api/v1/tenants", json={"name": "acme"})
    site.push("at-home", flows.wait_for("home"))
    site.start("at-home")
    page.goto(f"{site.url}/runs")
    rows = page.locator("[data-run]")
    expect(rows.first).to_be_visible()
    page.get_by_role("button", name="Tenant: default").click()
    page.get_by_role("menuitemradio", name="acme").click()
    expect(page.get_by_text("No runs yet")).to_be_visible()
    expect(page.locator("[data-link=live]")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Tenant: acme").click()
    page.get_by_role("menuitemradio", name="default").click()
    expect(rows.first).to_be_visible()
