"""The page of a run that is planned: its graph is drawn as it grows."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.hand import HandWorker

pytestmark = pytest.mark.browser


def task(alias: str, *needs: str) -> dict[str, Any]:
    return {
        "alias": alias,
        "goal": alias,
        "worker_profile": "planned-by-hand",
        "depends_on": list(needs),
    }


def test_the_tasks_of_a_plan_are_drawn_and_so_is_the_next_plan(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "planned-by-hand")
    plan = {"tasks": [task("gather"), task("write", "gather")]}
    body = {"dialect": "plan", "goal": "a report", "plan": plan}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.get_by_text("gather", exact=True).first).to_be_visible()
    expect(page.get_by_text("write", exact=True).first).to_be_visible()
    new = [task("gather"), task("check", "gather"), task("write", "check")]
    worker.finish(
        worker.take(), {"status": "completed", "request_replan": True, "child_tasks": new}
    )
    expect(page.get_by_text("check", exact=True).first).to_be_visible()
    expect(page.get_by_text("graph revision 2")).to_be_visible()


def test_a_plan_s_graph_has_room_beside_the_details_of_a_task(site: Site, page: Page) -> None:
    plan = {"tasks": [task("gather"), task("write", "gather")]}
    body = {"dialect": "plan", "goal": "a report with room", "plan": plan}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    rail = page.get_by_role("region", name="Plan")
    expect(rail).to_be_visible()
    page.locator("[data-node$=gather]").click()
    expect(page.get_by_role("complementary", name="Task")).to_be_visible()
    expect(rail).to_be_hidden()
    box = page.locator("[data-graph]").bounding_box()
    assert box is not None
    assert box["width"] > 250


def test_a_question_is_answered_by_its_options_or_in_words(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "asked-by-hand")
    one = {"alias": "draft", "goal": "draft", "worker_profile": "asked-by-hand"}
    body = {"dialect": "plan", "goal": "a letter", "plan": {"tasks": [one]}}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    options = [{"id": "warm", "label": "A warm one"}, {"id": "own", "kind": "freeform"}]
    question = {"question": "Which tone?", "options": options, "blocksRun": True}
    path = f"/api/v1/runs/{run_id}/tasks/draft/checkpoints"
    asked = site.http.post(path, json=question).json()["id"]
    page.goto(f"{site.url}/inbox?id={asked}")
    expect(page.get_by_text("The whole run is held back")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.get_by_role("button", name="A warm one").click()
    taken = worker.take()
    assert taken["input"]["answers"][0]["option_id"] == "warm"
    again = {"status": "waiting", "checkpoint": {"question": "To whom?"}}
    worker.finish(taken, again)
    page.goto(f"{site.url}/inbox")
    page.get_by_text("To whom?").first.click()
    page.get_by_label("In your own words").fill("To the mayor")
    page.get_by_role("button", name="Send", exact=True).click()
    taken = worker.take()
    assert taken["input"]["answers"][-1]["freeform_input"] == "To the mayor"
    worker.finish(taken, {"done": True})


def test_a_plan_is_judged_made_anew_and_answered_from_a_phone(site: Site, page: Page) -> None:
    planner, judge = HandWorker(site.http, "phone-planner"), HandWorker(site.http, "phone-judge")
    worker = HandWorker(site.http, "phone-worker")
    body = {"dialect": "plan", "goal": "a song", "plannerProfile": "phone-planner"}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.url}/runs/{run_id}")
    policy = {"verifier_profile": "phone-judge", "on_reject": "replan"}
    first = {"alias": "draft", "goal": "draft it", "worker_profile": "phone-worker"}
    planner.finish(planner.take(), {"tasks": [first | {"verification_policy": policy}]})
    worker.finish(worker.take(), {"status": "completed", "structured_output": {"song": "of land"}})
    went_by = {"lines": 3, "about": "land"}
    verdict = {"verdict": "rejected", "summary": "the wrong subject", "checks": went_by}
    judge.finish(judge.take(), verdict)
    second = {"alias": "second", "goal": "of the sea", "worker_profile": "phone-worker"}
    planner.finish(planner.take(), {"tasks": [second]})
    ask = {"question": "Which sea?", "options": [{"id": "own", "kind": "freeform"}]}
    worker.finish(worker.take(), {"status": "waiting", "checkpoint": ask})

    expect(page.get_by_text("graph revision 2")).to_be_visible()
    page.get_by_role("gridcell", name="draft").click()
    page.get_by_role("complementary").get_by_role("button", name="Claims").click()
    claim = page.locator("[data-claim]")
    expect(claim.get_by_text("of land")).to_be_visible()
    expect(claim.get_by_text("the wrong subject")).to_be_visible()
    expect(claim.locator("[data-evidence]")).to_contain_text('"about": "land"')
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    page.goto(f"{site.url}/inbox")
    page.get_by_text("Which sea?").first.click()
    page.get_by_label("In your own words").fill("The North Sea")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Send", exact=True).click()
    told = worker.take()
    assert told["input"]["answers"][0]["freeform_input"] == "The North Sea"
    worker.finish(told, {"status": "completed", "structured_output": {"song": "of the sea"}})
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.locator("[data-run-state=succeeded]")).to_be_visible()


def test_a_plan_s_timeline_has_lanes_for_who_was_at_it(site: Site, page: Page) -> None:
    worker = HandWorker(site.http, "lanes-by-hand")
    one = {"alias": "a", "goal": "a", "worker_profile": "lanes-by-hand"}
    body = {"dialect": "plan", "goal": "lanes", "plan": {"tasks": [one]}}
    run_id = str(site.http.post("/api/v1/runs", json=body).json()["id"])
    worker.finish(worker.take(), {"status": "completed", "summary": "done"})
    site.wait(run_id, "succeeded")
    outline = site.http.get(f"/api/v1/runs/{run_id}/outline").json()
    assert [attempt[5] for attempt in outline["attempts"]] == ["work"]
    page.goto(f"{site.url}/runs/{run_id}?view=flow")
    lanes = page.get_by_role("group", name="Lanes")
    expect(lanes.get_by_role("button", name="Role")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("img", name="Timeline of")).to_be_visible()
    lanes.get_by_role("button", name="Task").click()
    expect(page).to_have_url(re.compile("lanes=node"))


def test_a_card_wears_its_verifier_s_verdict(site: Site, page: Page) -> None:
    worker, judge = HandWorker(site.http, "worn-worker"), HandWorker(site.http, "worn-judge")
    policy = {"verifier_profile": "worn-judge", "on_reject": "retry"}
    one = {"alias": "draft", "goal": "draft", "worker_profile": "worn-worker"}
    again = {"verification_policy": policy, "retry_policy": {"max_attempts": 3}}
    body = {"dialect": "plan", "goal": "worn", "plan": {"tasks": [one | again]}}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    page.goto(f"{site.url}/runs/{run_id}?view=dag")
    card = page.locator("[data-node='plan/draft']")
    expect(card).to_be_visible()
    done = {"status": "completed", "structured_output": {"text": "Hi"}}
    worker.finish(worker.take(), done)
    expect(card).to_have_attribute("data-state", "verifying")
    expect(card.locator("[data-verdict]")).to_have_count(0)
    judge.finish(judge.take(), {"verdict": "rejected", "summary": "too short"})
    second = worker.take()
    expect(card.locator("[data-verdict=rejected]")).to_be_visible()
    worker.finish(second, done)
    judge.finish(judge.take(), {"verdict": "accepted", "summary": "it will do"})
    expect(card.locator("[data-verdict=accepted]")).to_be_visible()
