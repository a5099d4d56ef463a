"""The program in a pod while it runs: progress, log, actions, blackboard, all by its own token."""

import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.pods import Cluster, cluster_on
from windlass.client.pod import PodAttempt
from windlass.model.errors import Denied, StaleLease, Unauthorized
from windlass.testing.kube import KubeServer
from windlass.testing.processes import wait_until


def running(cluster: Cluster) -> tuple[str, PodAttempt]:
    run = cluster.start(sdk=True)
    return run, cluster.program(cluster.begin(run))


def test_progress_and_log_are_seen_while_it_runs(cluster: Cluster) -> None:
    run, attempt = running(cluster)
    attempt.log("one")
    attempt.progress(0.4, "counting rows")
    why = cluster.get(run, "/why")["line"]
    assert "40% counting rows, heard of" in why
    [row] = cluster.attempts(run)
    assert row["log"] == "one\n"
    attempt.log("two")
    attempt.succeed({"rows": 7})
    cluster.until(run, "succeeded")
    wait_until(lambda: cluster.attempts(run)[0]["log"] == "one\ntwo\n")


def test_what_a_pod_prints_is_kept_behind_what_its_program_logs(cluster: Cluster) -> None:
    run = cluster.start(sdk=True)
    pod = cluster.begin(run)
    attempt = cluster.program(pod)
    attempt.log("said")
    cluster.kube.pods.logs[pod["metadata"]["namespace"], pod["metadata"]["name"]] = "printed\n"
    attempt.succeed({})
    wait_until(lambda: cluster.attempts(run)[0]["log"] == "said\nprinted\n")


def test_an_exception_in_the_block_is_the_attempts_failure(cluster: Cluster) -> None:
    run, attempt = running(cluster)
    attempt.log("looking")
    with pytest.raises(ValueError, match="no rows"), attempt:
        raise ValueError("no rows")
    cluster.until(run, "failed")
    [row] = cluster.attempts(run)
    assert row["error"]["message"] == "ValueError: no rows"
    assert row["log"] == "looking\n"


def test_a_heartbeat_tells_that_it_is_cancelled(cluster: Cluster) -> None:
    run, given = running(cluster)
    url = cluster.server.url
    attempt = PodAttempt(url, given.attempt_id, given._token, beat_s=0.1)
    stopped = threading.Event()
    with attempt:
        cluster.http.post(f"/api/v1/runs/{run}/cancel").raise_for_status()
        wait_until(lambda: attempt.stopped)
        stopped.set()
    assert stopped.is_set()
    assert not attempt.heartbeat()
    cluster.remove(cluster.pod(run))
    cluster.until(run, "cancelled")


def test_what_it_does_outside_is_in_the_ledger_and_needs_an_approval_where_it_stays(
    cluster: Cluster,
) -> None:
    run, attempt = running(cluster)
    with attempt.action("charge", "external_write", input={"cents": 5}) as action:
        action.output = "paid"
    with pytest.raises(Denied), attempt.action("deploy", "external_irreversible"):
        raise AssertionError("what is not allowed is not done")
    [row] = cluster.get(run, "/actions")["items"]
    assert (row["tool"], row["state"], row["output"]) == ("charge", "completed", "paid")
    body = {"effect": "external_irreversible", "reason": "go"}
    path = f"/api/v1/runs/{run}/tasks/{cluster.task(run)['id']}/approvals"
    token = cluster.http.post(path, json=body).json()["token"]
    with attempt.action("deploy", "external_irreversible", approval=token):
        pass
    attempt.succeed({})
    cluster.until(run, "succeeded")
    with pytest.raises(StaleLease), attempt.action("late", "external_write"):
        raise AssertionError("an attempt that has ended does nothing any more")


def test_it_writes_on_the_blackboard_below_its_own_task_alone(cluster: Cluster) -> None:
    profiles = {"pod": {"kind": "pod", "pod": {"image": "registry.example/task:1", "sdk": True}}}
    tasks = [{"alias": "a", "goal": "g", "worker_profile": "pod"}]
    body = {"dialect": "plan", "goal": "go", "plan": {"tasks": tasks}, "profiles": profiles}
    run = str(cluster.http.post("/api/v1/runs", json=body).json()["id"])
    attempt = cluster.program(cluster.pod(run))
    revision = attempt.blackboard.put("progress.pages", 3)
    found = attempt.blackboard.get("progress.pages")
    assert found is not None
    assert (found.value, found.revision) == (3, revision)
    listed = cluster.get(run, "/blackboard?prefix=bb.task")["items"]
    assert listed[0]["key"].endswith("progress.pages")
    with pytest.raises(Denied):
        attempt.blackboard.put(f"bb.task.{run}~plan.1~b.0.progress.pages", 4)
    attempt.succeed({"status": "completed", "summary": "", "structured_output": {}})
    cluster.until(run, "succeeded")
    with pytest.raises(StaleLease):
        attempt.blackboard.put("progress.pages", 5)


@pytest.mark.parametrize("path", ["report", "actions", "actions/end", "blackboard"])
def test_every_door_is_shut_for_another_attempts_token(cluster: Cluster, path: str) -> None:
    (one, mine), (two, other) = running(cluster), running(cluster)
    call = {"callId": "1", "tool": "t", "state": "completed", "key": "progress.a"}
    body = {"attemptId": other.attempt_id, "token": mine._token, "log": "x", **call}
    for token in (mine._token, "nonsense", ""):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(f"{cluster.server.url}/api/v1/pods/{path}", json=body, headers=headers)
        assert answer.status_code == 401
    assert not cluster.attempts(two)[0]["log"]
    for run in (one, two):
        cluster.http.post(f"/api/v1/runs/{run}/cancel")


def test_a_token_of_an_attempt_opens_nothing_else(cluster: Cluster) -> None:
    run, attempt = running(cluster)
    headers = {"Authorization": f"Bearer {attempt._token}"}
    answer = httpx.get(f"{cluster.server.url}/api/v1/runs/{run}", headers=headers)
    assert answer.status_code == 401
    attempt.attempt_id = "no-such~a.1@1"
    with pytest.raises(Unauthorized):
        attempt.heartbeat()
    cluster.http.post(f"/api/v1/runs/{run}/cancel")


def secrets(cluster: Cluster) -> dict[str, Any]:
    _, found = cluster.kube.objects.select("secrets", "", lambda _: True)
    return {secret["metadata"]["name"]: secret for secret in found}


def test_its_token_is_in_a_secret_that_goes_with_the_pod(cluster: Cluster) -> None:
    run = cluster.start(sdk=True)
    pod = cluster.begin(run)
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    attempt = cluster.program(pod)
    assert attempt._token not in json.dumps(pod)
    # Nobody need have looked at the pod yet: it may be gone before anybody does.
    owner = wait_until(lambda: secrets(cluster)[name]["metadata"].get("ownerReferences"))
    assert [found["uid"] for found in owner] == [uid]
    attempt.succeed({})
    cluster.until(run, "succeeded")
    wait_until(lambda: name not in secrets(cluster))


def test_a_pod_without_a_program_of_ours_has_no_secret(cluster: Cluster) -> None:
    run = cluster.start()
    pod = cluster.pod(run)
    assert pod["metadata"]["name"] not in secrets(cluster)
    cluster.succeed(pod)
    cluster.until(run, "succeeded")


def test_a_pod_that_is_never_made_leaves_no_secret(cluster: Cluster) -> None:
    before = set(secrets(cluster))
    cluster.kube.faults.refuse(500, times=10_000, verb="create")
    run = cluster.start(sdk=True)
    wait_until(lambda: "is not made yet" in cluster.get(run, "/why")["line"])
    cluster.http.post(f"/api/v1/runs/{run}/cancel").raise_for_status()
    cluster.until(run, "cancelled")
    cluster.kube.faults.clear()
    wait_until(lambda: set(secrets(cluster)) <= before)


def test_where_no_secrets_may_be_made_the_token_is_in_a_variable(
    kube: KubeServer, tmp_path: Path
) -> None:
    db = f"sqlite:///{tmp_path / 'w.db'}"
    with cluster_on(db, kube, tmp_path / "log", "--kube-token-in-env") as other:
        run = other.start(sdk=True)
        pod = other.begin(run)
        assert pod["metadata"]["name"] not in secrets(other)
        other.program(pod).succeed({})
        other.until(run, "succeeded")
