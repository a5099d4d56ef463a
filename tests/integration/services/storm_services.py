"""A planner, a worker and a verifier by script, for plans during which each of them is killed.

Each writes down what it does before it answers, so that afterwards nobody has to take the server's
word for what was begun, and on what.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from windlass.worker import Context, Worker

planner, worker, verifier = Worker(), Worker(), Worker()

_PLAN_S, _WORK_S, _JUDGE_S = 0.05, 0.15, 0.1


def note(**line: Any) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(json.dumps(line) + "\n")


def plan_of(revision: int) -> dict[str, Any]:
    """Two results that are judged, one question, and a task that stands on all of it. The second
    plan has another `risky`, and with it all that comes after; the rest is as before."""

    def task(alias: str, *needs: str, **more: Any) -> dict[str, Any]:
        done_by = {"worker_profile": "storm.work", "retry_policy": {"max_attempts": 50}}
        return {"alias": alias, "goal": alias, "depends_on": list(needs), **done_by, **more}

    def policy(on_reject: str) -> dict[str, Any]:
        return {"verifier_profile": "storm.judge", "on_reject": on_reject}

    return {
        "tasks": [
            task("draft", verification_policy=policy("retry")),
            task("asked"),
            task("risky", inputs={"try": revision}, verification_policy=policy("replan")),
            task("used", "draft", "asked"),
            task("end", "used", "risky", role="final"),
        ]
    }


@planner.service("storm.plan")
def plan(brief: dict[str, Any]) -> dict[str, Any]:
    note(role="plan", run=brief["run"]["id"], reason=brief["reason"])
    time.sleep(_PLAN_S)
    return plan_of(1 if brief["reason"] == "start" else 2)


@worker.service("storm.work")
def work(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    task = brief["task"]
    stood_on = {p["alias"]: p["structured_output"] for p in brief["predecessors"]}
    own = {"run": brief["run"]["id"], "alias": task["alias"], "by": ctx.attempt_id}
    note(role="work", **own, stood_on=stood_on)
    time.sleep(_WORK_S)
    if task["alias"] == "asked" and not brief["answers"]:
        options = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        return {"status": "waiting", "checkpoint": {"question": "Go on?", "options": options}}
    told = any(line["from"] == "verifier" for line in brief["feedback"])
    right = told if task["alias"] == "draft" else task["inputs"].get("try", 2) == 2
    made = {"by": ctx.attempt_id, "right": right}
    return {"status": "completed", "summary": "made", "structured_output": made}


@verifier.service("storm.judge")
def judge(brief: dict[str, Any]) -> dict[str, Any]:
    made = brief["result"]["structured_output"]
    verdict = "accepted" if made["right"] else "rejected"
    note(role="verify", run=brief["run"]["id"], claim=made["by"], verdict=verdict)
    time.sleep(_JUDGE_S)
    return {"verdict": verdict, "summary": "as it is"}
