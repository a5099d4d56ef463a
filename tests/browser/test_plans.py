"""The page of a run that is planned: its graph is drawn as it grows."""

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
