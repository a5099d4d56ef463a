"""Why a run stands where it stands, counted every second while somebody looks."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Site
from windlass.testing.processes import ServerProcess, started, wait_until, worker_process

pytestmark = pytest.mark.browser

SERVICES = Path(__file__).parents[1] / "integration" / "services"


# Notes each figure that is shown beside some words, for as long as the page is open.
NOTE = """([where, words]) => {
    const seen = (window.figures = [])
    const look = () => {
        const said = document.querySelector(where)?.textContent.match(`${words} ([0-9]+)s`)
        if (said && Number(said[1]) !== seen.at(-1)) seen.push(Number(said[1]))
    }
    new MutationObserver(look).observe(document.body, {
        subtree: true,
        childList: true,
        characterData: true,
    })
    look()
}"""


def counted(page: Page, where: str, words: str, step: int) -> None:
    """Four figures follow each other by a second; a busy machine may leave one out."""
    page.evaluate(NOTE, [where, words])

    def follow() -> bool:
        last: list[int] = page.evaluate("window.figures.slice(-4)")
        steps = [step * (after - before) for before, after in pairwise(last)]
        return len(steps) == 3 and all(0 < one <= 2 for one in steps)

    wait_until(follow, every_s=0.1)


def test_why_counts_on_when_the_worker_is_killed(context: BrowserContext, tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'w.db'}"
    server = ServerProcess(db, "--no-auth", "--lease-s", "18", log=tmp_path / "log")
    with started(server):
        worker = worker_process(
            *("slow_services:worker", server.url, "pull", "--id", "w-doomed"),
            path=[SERVICES],
            env={"EFFECTS": str(tmp_path / "effects")},
            log=tmp_path / "log",
        )
        site = Site(server, worker)
        node = {"exec_type": "queue", "service": "sleepy", "params": {"seconds": 600}}
        site.push("doomed", {"start": "nap", "nodes": {"nap": node}, "edges": []})
        worker.start()
        run_id = site.start("doomed")
        page = context.new_page()
        page.goto(f"{site.url}/runs/{run_id}?view=list&task={run_id}~nap.1")
        why = page.locator("[data-why]")
        expect(why).to_contain_text('"nap" runs on w-doomed (attempt 1, lease for')
        worker.kill()
        # Nothing tells of it: the lease runs out before everybody's eyes, here and at the task.
        counted(page, "[data-why]", "lease for", -1)
        counted(page, "aside", "lease for", -1)
        expect(why).to_contain_text("is queued for", timeout=25_000)
        counted(page, "[data-why]", "is queued for", 1)
        expect(why).to_contain_text('no live pull worker serves "sleepy"', timeout=30_000)
        site.http.close()
