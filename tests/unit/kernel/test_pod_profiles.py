"""Tasks of plans whose profile is a pod: how they are launched, told, judged and cancelled."""

import json
from typing import Any

from tests.plans import claim, do, of, open_states, say, task
from windlass.dialects.plan import compile_plan
from windlass.kernel.events import AttemptDetached, BriefAsked, PodObserved
from windlass.model.pods import PodReason, PodSighting, PodStatus
from windlass.model.states import TaskState
from windlass.testing.played import Played

POD = "default/ff-1"
PROFILES = {"crunch": {"kind": "pod", "pod": {"image": "registry.example/crunch:1"}}}


def play(*tasks: dict[str, Any], **more: Any) -> Played:
    definition = {"goal": "make it so", "profiles": PROFILES, "worker_profile": "hand", **more}
    if tasks:
        definition["plan"] = {"tasks": list(tasks)}
    return Played(compile_plan(definition))


def launch(run: Played, alias: str) -> str:
    given = claim(run, alias)
    run.send(AttemptDetached(given.attempt_id, POD))
    return given.attempt_id


def see(run: Played, attempt: str, status: PodStatus, reason: PodReason) -> str:
    seen = PodSighting(status=status, reason=reason, pod=POD, uid="u1", exit_code=0)
    return str(run.send(PodObserved(attempt, seen)))


def test_a_task_whose_profile_is_a_pod_waits_for_a_launcher_and_others_for_workers() -> None:
    run = play(task("a", worker_profile="crunch"), task("b"))
    assert of(run, "a").queue == "pod:default"
    assert of(run, "b").queue == "pull:hand"


def test_the_brief_of_a_pods_attempt_can_be_had_again() -> None:
    run = play(task("first"), task("a", "first", worker_profile="crunch"))
    do(run, "first", {"rows": 3})
    given = claim(run, "a")
    told = json.loads(run.send(BriefAsked(given.attempt_id)))
    assert told == json.loads(given.input)
    assert told["task"]["worker_profile"] == "crunch"
    assert told["task"]["attempt_no"] == 1
    assert told["predecessors"][0]["structured_output"] == {"rows": 3}


def test_a_pod_that_ends_well_completes_its_task_and_the_plan_goes_on() -> None:
    run = play(task("a", worker_profile="crunch"), task("b", "a"))
    attempt = launch(run, "a")
    assert see(run, attempt, PodStatus.SUCCEEDED, PodReason.COMPLETED) == "accepted"
    brief = json.loads(claim(run, "b").input)
    assert brief["predecessors"][0]["structured_output"] == {"exit_code": 0}


def test_a_deleted_pod_cancels_its_task_and_not_the_run() -> None:
    run = play(task("a", worker_profile="crunch"), task("b"))
    see(run, launch(run, "a"), PodStatus.CANCELED, PodReason.DELETED)
    assert open_states(run) == {"a": "cancelled", "b": "queued"}


def test_an_evicted_pod_costs_its_task_no_try() -> None:
    run = play(task("a", worker_profile="crunch"))
    see(run, launch(run, "a"), PodStatus.FAILED, PodReason.EVICTED)
    assert of(run, "a").state is TaskState.WAITING
    assert (of(run, "a").failures, of(run, "a").moves) == (0, 1)


def test_planners_are_told_of_pods_and_a_plan_judged_by_one_is_refused() -> None:
    run = play(worker_profile="")
    asked = claim(run)
    assert "crunch" in json.loads(asked.input)["profiles"]
    judged = {"mode": "llm", "verifier_profile": "crunch"}
    say(run, asked, {"tasks": [task("a", verification_policy=judged), task("b")]})
    told = json.loads(claim(run).input)["feedback"][0]["summary"]
    assert 'tasks[0].verification_policy: profile "crunch" is a pod' in told
