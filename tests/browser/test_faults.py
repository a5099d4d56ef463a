"""Faults that were found by looking, and where each is held; those without a better place are here.

| fault | test |
|---|---|
| 1 ticking three runs with the mouse | `test_lists.test_every_run_that_is_ticked_is_selected` |
| 2 "expires now" with a day left | `test_lists.test_the_inbox_says_how_long_there_is` |
| 3 `a` asks and can be undone | `test_run_page.test_the_key_for_approving_asks_first` |
| 4 a phone's inbox, no overflow | `test_lists.test_on_a_phone_an_inbox_item_opens_and_fits`, \
`test_pages.test_every_page_fits_its_window` |
| 5 the server stopped | `test_standing_alone.test_the_first_steps_work_as_they_are_shown`, \
`test_standing_alone.test_every_page_is_ours_though_it_is_opened_after_the_server_has_stopped`, \
`test_the_banner_comes_soon_after_the_server_is_gone` |
| 6 `why` counts | `test_run_page.test_why_counts_and_logs_arrive_while_an_attempt_runs`, \
`test_why.test_why_counts_on_when_the_worker_is_killed`, \
`test_why_counts_down_in_chinese_as_well` |
| 7 logs of a running attempt | \
`test_run_page.test_why_counts_and_logs_arrive_while_an_attempt_runs` |
| 8 attempts as numbers, 9 old errors | \
`test_run_page.test_attempts_are_counted_as_numbers_and_old_errors_are_not_a_reason` |
| 10 new runs honour the filter | `test_lists.test_new_runs_are_counted_only_within_the_filter` |
| 11 first steps, workers' count | \
`test_standing_alone.test_the_first_steps_work_as_they_are_shown` |
| 12 menus close | `test_run_page.test_a_menu_closes_by_escape_and_by_a_click_beside_it` |
| 13 a sleeping run's timeline | `test_run_page.test_a_run_that_only_sleeps_has_a_timeline` |
| 14 our own 404 | `test_lists.test_unknown_addresses_are_pages_of_ours` |
| 15 attempts of a foreach | `test_run_page.test_a_fan_out_that_is_done_misses_no_worker` |
| 16 descriptions of flows | `test_lists.test_the_list_of_flows_has_their_descriptions` |
| 17 what is offered; plurals and sizes | \
`test_lists.test_only_what_makes_sense_is_offered_for_all`, \
`test_runs.test_a_failed_task_is_retried_from_its_card`, `test_small_sizes_are_bytes` |
| 18 the signal's key | `test_run_page.test_the_signal_dialog_knows_what_the_run_waits_for` |
| 19 a tooltip after a brush, old errors | `test_a_brush_leaves_no_tooltip_behind`, \
`test_lists.test_a_corrected_definition_carries_no_old_errors`, \
`test_packages.test_a_bad_archive_is_refused_in_place_and_a_good_one_published` |
| 20 canvas, zoom, ports, edges | \
`test_graph_faults.test_no_text_of_a_canvas_lies_under_what_is_drawn_after_it`, \
`test_graph_faults.test_edges_of_ports_lead_from_name_to_name`, \
`test_graph_faults.test_edges_run_beside_the_cards_on_their_way`, \
`test_tools.test_a_graph_of_many_nodes_is_a_canvas_that_pans_selects_and_takes_the_keyboard`, \
`test_workflows.test_a_workflow_is_watched_by_labels_with_its_container_and_its_skipped_branch`, \
`test_edges_touch_the_cards_they_join_and_buttons_zoom` |
| 21 headings, tab order, checkboxes, borders | `test_headings_of_logs_go_down_by_one`, \
`test_graph_faults.test_tab_goes_from_card_to_card_as_one_reads`, \
`test_lists.test_checkboxes_are_large_enough_to_hit`, \
`test_graph_faults.test_dashed_borders_are_seen` |
| 22 Chinese | `test_lists.test_chinese_words_and_times_are_right`, \
`test_lists.test_what_is_wrong_with_a_filter_is_said_in_chinese`, \
`test_why_counts_down_in_chinese_as_well` |

And what has to be shown: a plan judged, made anew and answered from a phone (`test_plans`), an
environment held, looked at and released (here), a dead letter replayed and a limit changed
(`test_operations`), the worker killed and `why` counting (`test_why`), logs that arrive while an
attempt runs (`test_logs`), the server stopped and every page still ours (`test_standing_alone`).
"""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser import flows
from tests.browser.conftest import Site
from tests.hand import HandWorker
from windlass.testing.processes import ServerProcess, started, wait_until

pytestmark = pytest.mark.browser


def test_the_banner_comes_soon_after_the_server_is_gone(
    context: BrowserContext, tmp_path: Path
) -> None:
    server = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--no-auth")
    with started(server):
        page = context.new_page()
        page.goto(f"{server.url}/runs")
        expect(page.locator("[data-link=live]")).to_be_visible()
        expect(page.get_by_text("Actions are off")).to_have_count(0)
        # Pages are fetched while nothing else is to do, so that they are there when nobody answers.
        there = "performance.getEntriesByType('resource').map((one) => one.name).join()"
        for name in ("/environments-", "/timeline-", "/viewer-", "/diff-box-"):
            wait_until(lambda name=name: name in page.evaluate(there))
        server.stop()
        expect(page.get_by_text("Actions are off")).to_be_visible(timeout=10_000)
        page.get_by_role("navigation").get_by_role("link", name="Environments").click()
        expect(page.get_by_role("heading", name="Environments", exact=True)).to_be_visible()


def test_why_counts_down_in_chinese_as_well(site: Site, page: Page) -> None:
    site.push("naps", flows.sleeping(3_600_000))
    run_id = site.start("naps")
    site.wait(run_id, "waiting")
    page.add_init_script("localStorage.setItem('windlass.prefs', '{\"language\":\"zh\"}')")
    page.goto(f"{site.url}/runs/{run_id}")
    why = page.locator("[data-why]")
    expect(why).to_have_text(re.compile(r'^"nap" 休眠中.还剩 \d+m \d\ds$'))
    before = why.inner_text()
    expect(why).not_to_have_text(before)


def test_small_sizes_are_bytes(site: Site, page: Page) -> None:
    site.push("sized", flows.wait_for("never"))
    page.goto(f"{site.url}/flows/sized?tab=definition")
    expect(page.get_by_text(re.compile(r"^sized@1 · \d+ B$"))).to_be_visible()
    expect(page.get_by_text("0.0 kB")).to_have_count(0)
    # What went in and came out of a step is small too.
    run_id = site.start("sized")
    site.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "never", "value": 1})
    site.wait(run_id, "succeeded")
    page.goto(f"{site.url}/runs/{run_id}?view=data")
    expect(page.get_by_role("main").get_by_text(re.compile(r"\d+ B$"))).not_to_have_count(0)
    expect(page.get_by_text(re.compile(r"\b0\.0 kB"))).to_have_count(0)


def test_a_brush_leaves_no_tooltip_behind(site: Site, page: Page) -> None:
    site.push("brush-lanes", flows.sleeping(3_600_000))
    run_id = site.start("brush-lanes")
    site.wait(run_id, "waiting")
    page.goto(f"{site.url}/runs/{run_id}?view=flow")
    canvas = page.get_by_role("img", name=re.compile("^Timeline of"))
    expect(canvas).to_be_visible()
    box = canvas.bounding_box()
    assert box is not None
    tip = page.locator("b").filter(has_text="nap")
    x = box["x"] + box["width"] * 0.6
    # Rows begin below the axis: look for the bar from the top down.
    for y in range(int(box["y"]) + 10, int(box["y"] + box["height"]), 6):
        page.mouse.move(x, y)
        if tip.count():
            break
    expect(tip).to_be_visible()
    page.mouse.down()
    page.mouse.move(x + 80, y, steps=4)
    page.mouse.up()
    expect(tip).to_have_count(0)


def test_edges_touch_the_cards_they_join_and_buttons_zoom(site: Site, page: Page) -> None:
    site.push("joined", flows.failing())
    page.goto(f"{site.url}/flows/joined")
    first, second = page.locator("[data-node=first]"), page.locator("[data-node=second]")
    expect(second).to_be_visible()
    page.wait_for_timeout(500)
    edge = page.locator(".react-flow__edge-path").first
    ends = edge.evaluate(
        """(path) => {
            const matrix = path.getScreenCTM()
            const at = (length) => path.getPointAtLength(length).matrixTransform(matrix)
            const [a, b] = [at(0), at(path.getTotalLength())]
            return [[a.x, a.y], [b.x, b.y]]
        }"""
    )
    assert distance(first, *ends[0]) <= 6, "the edge begins at its card"
    assert distance(second, *ends[1]) <= 6, "the edge ends at its card"
    before = first.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(400)
    after = first.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]


def distance(card: Locator, x: float, y: float) -> float:
    """How far a point is from a card's edge or inside; 0 within it."""
    box = card.bounding_box()
    assert box is not None
    across = max(box["x"] - x, 0, x - box["x"] - box["width"])
    down = max(box["y"] - y, 0, y - box["y"] - box["height"])
    return float((across**2 + down**2) ** 0.5)


def test_headings_of_logs_go_down_by_one(site: Site, page: Page) -> None:
    site.push("headed", flows.failing())
    run_id = site.start("headed", {"x": 2, "word": "abc"})
    site.wait(run_id, "failed")
    page.goto(f"{site.url}/runs/{run_id}?view=logs")
    expect(page.locator("[data-run-state=failed]")).to_be_visible()
    levels = (
        page.get_by_role("main")
        .get_by_role("heading")
        .evaluate_all("(found) => found.map((one) => Number(one.tagName.slice(1)))")
    )
    steps = [after - before for before, after in pairwise(levels)]
    assert levels[0] == 1
    assert max(steps, default=0) <= 1, levels


def test_an_environment_is_held_looked_at_and_released(
    context: BrowserContext, tmp_path: Path
) -> None:
    db = f"sqlite:///{tmp_path / 'w.db'}"
    server = ServerProcess(db, "--no-auth", "--env-noop", log=tmp_path / "log")
    with started(server):
        site = Site(server, server)
        body = {"name": "kept", "kind": "noop"}
        assert site.http.post("/api/v1/envs/resources", json=body).status_code == 201
        env = {"resource": "kept", "keep_failed_s": 600}
        node = {"kind": "executor", "exec_type": "queue", "service": "env.kept", "env": env}
        site.push("env-kept", {"start": "a", "nodes": {"a": node}, "edges": []})
        worker = HandWorker(site.http, "env.kept")
        run_id = site.start("env-kept")
        worker.fail(worker.take(), "no")
        site.wait(run_id, "failed")
        page = context.new_page()
        page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~a.1")
        held = page.get_by_role("list", name="Environments").get_by_role("link", name="kept")
        held.click()
        expect(page.get_by_role("complementary", name="Session")).to_contain_text("kept")
        page.goto(f"{site.url}/environments")
        sessions = site.http.get("/api/v1/envs/sessions", params={"resource": "kept"}).json()
        [session] = sessions["items"]
        rows = page.get_by_role("group", name="Sessions").get_by_role("row")
        rows.last.get_by_role("button", name="kept").click()
        detail = page.get_by_role("complementary", name="Session")
        expect(detail).to_contain_text("kept")
        expect(page.locator("[data-resource=kept]")).to_contain_text("1 held")
        expect(rows.last).to_contain_text(re.compile("in [0-9]+ min"))
        detail.get_by_role("button", name="Take a snapshot").click()
        expect(detail.locator("[data-changed=false]").last).to_contain_text("as before")
        expect(detail.locator("[data-files]")).to_have_count(0)
        put = {"command": ["tee", "report.txt"], "stdin": "aGk="}
        at = f"/api/v1/envs/sessions/{session['id']}/exec"
        assert site.http.post(at, json=put).json()["code"] == 0
        detail.get_by_role("button", name="Take a snapshot").click()
        files = detail.locator("[data-files]").last
        expect(files).to_contain_text("1 added")
        files.locator("summary").click()
        expect(files.locator("[data-file=added]")).to_contain_text("/workspace/report.txt")
        detail.get_by_role("button", name="Release").click()
        page.get_by_role("dialog").get_by_role("button", name="Release").click()

        def state() -> str:
            found = site.http.get(f"/api/v1/envs/sessions/{session['id']}").json()
            return str(found["state"])

        wait_until(lambda: state() == "released")
        expect(detail.get_by_role("button", name="Release")).to_have_count(0)
        site.http.close()
