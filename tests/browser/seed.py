"""Something to see on every page of the UI: for tests of all of them, and for their pictures."""

from typing import Any

from tests.browser import flows, workflows
from tests.browser.conftest import Fleet, Site
from tests.hand import HandWorker
from tests.integration.pods import Cluster
from windlass.testing.kube import kinds
from windlass.testing.processes import wait_until

AGENT_LOG = """… The invoice has a number; the books will know what is still owed.
→ look_up {"invoice":4711}
← look_up {"owed":12,"currency":"EUR"}
… 12 EUR is below the limit that needs a second pair of eyes.
Twelve euros are owed. I pay them now.
"""
SETTINGS = ("general", "tokens", "users", "tenants", "audit")


def seed(site: Site, fleet: Fleet) -> dict[str, str]:
    """Fill a server; the pages by name."""
    found = {"overview": "/", "runs": "/runs", "inbox": "/inbox", "flows": "/flows"}
    found |= {"pods": "/pods"}
    found |= env_pages(site)
    found |= workflow_pages(site, fleet)
    found |= run_pages(site)
    found |= plan_pages(site)
    found |= judged_pages(site)
    found |= outside_pages(site)
    found |= limit_pages(site)
    found |= {"workers": "/workers", "worker": "/workers?id=link-a"}
    found |= {"packages": "/packages", "package": "/packages/text_tools?version=1.0.0"}
    found |= {f"settings-{tab}": f"/settings?tab={tab}" for tab in SETTINGS}
    return found | {"not-found": "/nowhere"}


def outside_pages(site: Site) -> dict[str, str]:
    """A run that did things outside, and wrote down how far it is."""
    worker = HandWorker(site.http, "payer")
    one = {"alias": "pay", "goal": "pay the invoice", "worker_profile": "payer"}
    body = {"dialect": "plan", "goal": "pay what is owed", "plan": {"tasks": [one]}}
    run = str(site.http.post("/api/v1/runs", json=body).json()["id"])
    attempt = worker.take()
    worker.say(attempt, AGENT_LOG)
    looked = worker.begin_action(attempt, "look_up", "external_read", input={"invoice": 4711})
    worker.end_action(attempt, looked, {"owed": 12, "currency": "EUR"})
    worker.put_on_board(attempt, "progress.invoices", {"read": 1, "of": 3})
    worker.put_on_board(attempt, "progress.invoices", {"read": 3, "of": 3})
    worker.begin_action(attempt, "transfer", "external_write", input={"iban": "DE00"})
    worker.finish(attempt, {"paid": "perhaps"})
    at = f"/runs/{run}?view"
    return {
        "actions": f"{at}=actions",
        "blackboard": f"{at}=board",
        "plan-activity": f"{at}=dag&task={run}~plan.0~pay.0",
    }


def workflow_pages(site: Site, fleet: Fleet) -> dict[str, str]:
    fleet.publish(fleet.old)
    fleet.publish(fleet.new)
    article = workflows.article("Article pipeline")
    wired = fleet.start(article)
    site.wait(wired, "succeeded")
    publish = f"{wired}~{workflows.uuid('Article pipeline publish')}.0"
    return {
        "workflow-run-graph": f"/runs/{wired}?view=dag",
        "workflow-task": f"/runs/{wired}?view=list&task={publish}&tab=io",
        "workflow-graph": f"/flows/{article['id']}",
    }


def run_pages(site: Site) -> dict[str, str]:
    site.push("review-pages", flows.review())
    changed = flows.review()
    changed["nodes"]["discard"]["params"]["delay_ms"] = 50
    site.push("review-pages", changed)
    site.push("ingest", flows.failing())
    site.push("render", flows.queued("gpu-render"))
    site.push("approve-release", flows.wait_for("release"))
    waiting = site.start("review-pages", {"pages": list(range(12))})
    big = site.start("review-pages", {"pages": list(range(128))})
    failed = site.start("ingest", {"x": 2, "word": "abc"})
    for n in range(10):
        site.start("ingest", {"x": n, "word": "abc" if n % 4 == 3 else [n, n]})
    queued = site.start("render", {"x": 1})
    logged = logged_run(site)
    site.start("approve-release")
    site.wait(failed, "failed")
    site.wait(big, "waiting")
    site.http.post(f"/api/v1/runs/{failed}/retry", json={})
    site.wait(failed, "failed")
    wait_until(lambda: site.http.get("/api/v1/dead-letters").json()["items"])
    letter = f"{failed}~second.2"
    return {
        "run-graph": f"/runs/{big}?view=dag",
        "run-timeline": f"/runs/{failed}?view=flow",
        "run-list": f"/runs/{big}?view=list",
        "run-events": f"/runs/{waiting}?view=events",
        "run-logs": f"/runs/{logged}?view=logs",
        "run-task": f"/runs/{failed}?view=dag&task={letter}&tab=attempts",
        "run-queued": f"/runs/{queued}?view=dag",
        "flow-graph": "/flows/review-pages",
        "flow-diff": "/flows/review-pages?tab=diff",
        "flow-grid": "/flows/ingest?tab=grid",
        "flow-runs": "/flows/review-pages?tab=runs",
        "dead-letters": f"/dead-letters?id={letter}",
    }


def logged_run(site: Site) -> str:
    """A run whose two attempts have said something by turns: with levels, colours and a trace."""
    site.push("convert", flows.side_by_side("converting", "indexing"))
    workers = [HandWorker(site.http, "converting"), HandWorker(site.http, "indexing")]
    run_id = site.start("convert")
    taken = [worker.take() for worker in workers]
    texts = ["", ""]

    def say(who: int, text: str, level: str = "") -> None:
        marks = [[0, len(text), level]] if level else []
        workers[who].say(taken[who], f"{text}\n", len(texts[who]), marks)
        texts[who] += f"{text}\n"

    say(0, "opened report.pdf, 14 pages", "info")
    for n in range(1, 15):
        say(0, f"page {n} of 14 converted in {30 + 7 * n % 11} ms")
        if n == 7:
            say(0, "\x1b[33mWARNING\x1b[0m page 7 has no text layer; it was read from its picture")
        if n % 3 == 0:
            say(1, f"{n * 41} words indexed", "debug" if n < 12 else "info")
    trace = (
        "Traceback (most recent call last):\n  in tables\nValueError: page 9: a table in a table"
    )
    say(0, trace, "error")
    say(1, "the table of page 9 is left out", "warning")
    for worker, attempt in zip(workers, taken, strict=True):
        worker.finish(attempt, {"pages": 14})
    site.wait(run_id, "succeeded")
    return run_id


def plan_task(alias: str, *needs: str, **more: Any) -> dict[str, Any]:
    needed = {"alias": alias, "goal": alias, "worker_profile": "writer"}
    return needed | {"depends_on": list(needs)} | more


def plan_pages(site: Site) -> dict[str, str]:
    """A plan that was made anew once, with a claim that waits for a person's verdict."""
    worker = HandWorker(site.http, "writer")
    plan = {"tasks": [plan_task("gather"), plan_task("write", "gather")]}
    body = {"dialect": "plan", "goal": "A report on tides", "plan": plan}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    new = [plan_task("gather"), plan_task("check", "gather"), plan_task("write", "check")]
    done = {"status": "completed", "request_replan": True, "child_tasks": new}
    worker.finish(worker.take(), done)
    wait_until(lambda: site.run(run_id)["revision"] == 2)
    return {"plan": f"/runs/{run_id}"}


def judged_pages(site: Site) -> dict[str, str]:
    """A claim that was rejected, and one that was accepted; within a budget."""
    worker, judge = HandWorker(site.http, "drafter"), HandWorker(site.http, "reader")
    policy = {"verifier_profile": "reader", "on_reject": "retry"}
    draft = {"alias": "draft", "goal": "draft it", "worker_profile": "drafter"}
    again = {"max_attempts": 3, "backoff_seconds": 0}
    plan = {"tasks": [draft | {"verification_policy": policy, "retry_policy": again}]}
    budget = {"tokens": 20_000, "attempts": 10}
    body = {"dialect": "plan", "goal": "A letter to the mayor", "plan": plan, "budget": budget}
    run_id = site.http.post("/api/v1/runs", json=body).json()["id"]
    for text, verdict in (
        ("Hi!", {"verdict": "rejected", "summary": "too short", "checks": {"words": 1, "of": 50}}),
        (
            "Dear Mayor, …",
            {"verdict": "accepted", "summary": "it will do", "checks": {"words": 62}},
        ),
    ):
        done = {"status": "completed", "structured_output": {"text": text}}
        worker.finish(worker.take(), done)
        judge.finish(judge.take(), verdict)
    site.wait(run_id, "succeeded")
    return {"plan-claims": f"/runs/{run_id}?view=dag&task={run_id}~plan.0~draft.0&tab=claims"}


def env_pages(site: Site) -> dict[str, str]:
    """Resources, and a place that is kept for a look after its task has failed."""
    for name, capacity in (("lab", 2), ("browser", 6)):
        body = {"name": name, "kind": "noop", "capacity": capacity}
        assert site.http.post("/api/v1/envs/resources", json=body).status_code in (201, 409)
    flow = flows.queued("in-the-lab")
    flow["nodes"]["work"]["env"] = {"resource": "lab", "keep_failed_s": 3600}
    site.push("measure", flow)
    worker = HandWorker(site.http, "in-the-lab")
    failed = site.start("measure", {"x": 0})
    worker.fail(worker.take(), "the probe does not answer")
    site.wait(failed, "failed")
    asked = {"run": failed, "state": "all"}
    [kept] = site.http.get("/api/v1/envs/sessions", params=asked).json()["items"]
    return {"environments": "/environments", "environment": f"/environments?id={kept['id']}"}


def limit_pages(site: Site) -> dict[str, str]:
    """A key that hands out nothing, so that four wait for it, a budget and a breaker."""
    flow = flows.queued("transform")
    flow["nodes"]["work"]["limits"] = [{"key": "bank:$params.customer", "max": 2}]
    site.push("charge", flow)
    # Rules hold for the whole server: these are about nothing that other tests use.
    for rule in (
        {"pattern": "bank:*", "max": 0},
        {"pattern": "service:gpu-render", "rate": 50, "tripAfter": 5},
    ):
        assert site.http.put("/api/v1/limit-rules", json=rule).status_code == 200
    for n in range(4):
        params = {"x": n, "customer": 42}
        body = {"flow": "charge", "params": params, "budget": {"tokens": 20_000}}
        assert site.http.post("/api/v1/runs", json=body).status_code == 202
    wait_until(lambda: waiting_for(site, "bank:42") == 4)
    return {"limits": "/limits"}


def waiting_for(site: Site, key: str) -> int:
    items = site.http.get("/api/v1/limits", params={"key": key}).json()["items"]
    return sum(item["waiting"] for item in items)


def seed_pods(cluster: Cluster) -> dict[str, str]:
    """A pod of each kind to look at: the runs by what they are at."""
    failures = {kind.name: kind for kind in kinds.FAILURES}
    waits = cluster.start(namespace="team-a", image="registry.example/team/render:2")
    cluster.set(cluster.pod(waits), failures["unschedulable"].status(kinds.now()))
    works = cluster.start(sdk=True, image="registry.example/count:7")
    cluster.begin(works)
    with cluster.program(cluster.pod(works)) as program:
        program.progress(0.42, "counting rows")
    fails = cluster.start(image="registry.example/hungry:1")
    cluster.play(fails, failures["oom"])
    cluster.until(fails, "failed")
    return {"waits": waits, "works": works, "fails": fails}
