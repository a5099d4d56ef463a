"""Tasks that are pods, over HTTP to a Pod API server: every end, a cancel, and kill -9."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.pods import TOKEN, Cluster, cluster_on, server_on
from windlass.model.errors import Unauthorized
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.processes import ServerProcess, wait_until

PODS = 50

WITHOUT_RETRY = {
    "exit": "pod.error",
    "start": "pod.error",
    "init": "pod.error",
    "over-limit": "pod.error",
    "oom": "pod.oom",
    "init-oom": "pod.oom",
    "init-image": "pod.image",
    "err-image": "pod.image",
    "image-back-off": "pod.image",
    "image-name": "pod.image",
    "config": "pod.config",
    "create": "pod.config",
    "deadline": "pod.deadline",
}
TRIED_AGAIN = {
    "memory": "pod.eviction",
    "disk": "pod.eviction",
    "pressure": "pod.eviction",
    "preempted": "pod.eviction",
    "drained": "pod.eviction",
    "no-cpu": "pod.capacity",
    "no-memory": "pod.capacity",
    "creating": "pod.capacity",
    "unschedulable": "pod.capacity",
    "shutdown": "pod.node_lost",
    "node-lost": "pod.node_lost",
    "node-unreachable": "pod.node_lost",
}


def test_a_task_is_a_pod_and_succeeds_with_its_exit_code(cluster: Cluster) -> None:
    run = cluster.start(
        command=["sh", "-c"],
        args=["true"],
        env={"LEVEL": "3"},
        secrets={"PASSWORD": "db/password"},
        resources={"cpu": "100m", "memory": "64Mi", "gpu": 1},
        node_selector={"disk": "ssd"},
        service_account="worker",
        active_deadline_s=60,
    )
    pod = cluster.pod(run)
    main = pod["spec"]["containers"][0]
    env = {item["name"]: item for item in main["env"]}
    labels = pod["metadata"]["labels"]
    assert pod["metadata"]["name"].startswith(f"ff-{run[:8]}-work-1-")
    assert labels["flowforge.io/workflow-id"] == run
    assert labels["flowforge.io/workload"] == "true"
    assert labels["flowforge.io/attempt"] == "1"
    assert labels["flowforge.io/task-name"] == "work"
    assert labels["app.kubernetes.io/managed-by"] == "flowforge"
    assert env["LEVEL"]["value"] == "3"
    assert env["FLOWFORGE_WORKFLOW_ID"]["value"] == run
    assert env["PASSWORD"]["valueFrom"]["secretKeyRef"] == {"name": "db", "key": "password"}
    assert main["resources"]["limits"] == {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "1"}
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["activeDeadlineSeconds"] == 60
    why = wait_until(lambda: cluster.get(run, "/why")["line"])
    assert "pod default/ff-" in why
    cluster.begin(run)
    assert "runs in pod" in cluster.get(run, "/why")["line"]
    assert cluster.attempts(run)[0]["leaseUntil"] is None
    cluster.succeed(pod, "one\ntwo\n")
    cluster.until(run, "succeeded")
    assert cluster.task(run)["output"] == {"exit_code": 0}
    [attempt] = wait_until(lambda: [a for a in cluster.attempts(run) if a["log"]])
    assert attempt["log"] == "one\ntwo\n"
    assert attempt["externalRef"].endswith(pod["metadata"]["uid"])
    wait_until(lambda: not cluster.pods(run))


def test_every_way_to_end_is_told_apart_and_has_its_own_rule(cluster: Cluster) -> None:
    """One run for each, all at once; 10 s is what the design allows from the transition."""
    waits: dict[str, Any] = {"eviction_wait_s": 900, "capacity_wait_s": 900, "grace_s": 1}
    runs = {kind.name: cluster.start(**waits) for kind in kinds.FAILURES}
    played: dict[str, float] = {}
    for kind in kinds.FAILURES:
        cluster.play(runs[kind.name], kind)
        played[kind.name] = time.monotonic()
    time.sleep(0.7)  # two looks, in which those that leave are seen to
    for kind in kinds.FAILURES:
        if kind.deleted:
            cluster.remove(cluster.pod(runs[kind.name]))
    took: list[float] = []
    for name, run in runs.items():
        first = wait_until(lambda run=run: _ended(cluster, run), timeout_s=15)
        took.append(time.monotonic() - played[name])
        if name == "deleted":
            assert first["state"] == "cancelled"
            assert cluster.until(run, "cancelled")
            continue
        expected = {**WITHOUT_RETRY, **TRIED_AGAIN}[name]
        assert first["error"]["code"] == expected, name
        task = cluster.task(run)
        assert (task["state"] == "failed") is (name in WITHOUT_RETRY), name
        if name in TRIED_AGAIN:
            assert task["failures"] == 0, name
    assert sorted(took)[int(len(took) * 0.95)] < 10
    for run in runs.values():
        cluster.http.post(f"/api/v1/runs/{run}/cancel")


def _ended(cluster: Cluster, run: str) -> dict[str, object] | None:
    first = cluster.attempts(run)[0]
    return first if first["state"] not in ("claimed", "running") else None


def test_after_out_of_memory_the_next_pod_has_more_of_it(cluster: Cluster) -> None:
    run = cluster.start(resources={"memory": "100Mi"}, oom_memory_factor=1.5)
    first = cluster.begin(run)
    at = kinds.now()
    cluster.set(first, kinds.failed(at, kinds.ended(137, "OOMKilled", at)))
    wait_until(lambda: len(cluster.attempts(run)) == 2)
    name = first["metadata"]["name"]
    second = wait_until(
        lambda: [pod for pod in cluster.pods(run) if pod["metadata"]["name"] != name]
    )[0]
    memory = second["spec"]["containers"][0]["resources"]["limits"]["memory"]
    assert memory == str(150 * 1024 * 1024)
    cluster.succeed(second)
    cluster.until(run, "succeeded")


def test_a_program_in_a_pod_hands_in_its_result_with_its_own_token(cluster: Cluster) -> None:
    run = cluster.start({"prep": {"input_key": "$params"}}, sdk=True)
    pod = cluster.begin(run)
    attempt = cluster.program(pod)
    assert attempt.input == {}
    assert not attempt.should_stop()
    attempt.succeed({"rows": 7})
    cluster.until(run, "succeeded")
    assert cluster.task(run)["output"] == {"rows": 7}
    cluster.succeed(pod)  # what its end says comes too late to matter
    attempt.succeed({"rows": 7})
    assert attempt.should_stop()
    assert cluster.task(run)["output"] == {"rows": 7}


def test_a_pod_that_was_to_hand_in_a_result_and_did_not_has_failed(cluster: Cluster) -> None:
    run = cluster.start(sdk=True)
    cluster.succeed(cluster.begin(run))
    cluster.until(run, "failed")
    assert "handed in no result" in cluster.attempts(run)[0]["error"]["message"]
    again = cluster.start(sdk=True)
    cluster.program(cluster.begin(again)).fail("no rows", retry=False)
    cluster.until(again, "failed")
    assert cluster.attempts(again)[0]["error"]["kind"] == "fatal"


def test_a_pods_token_is_good_for_its_own_attempt_alone(cluster: Cluster) -> None:
    runs = [cluster.start(sdk=True) for _ in range(2)]
    mine, other = (cluster.program(cluster.begin(run)) for run in runs)
    mine.attempt_id = other.attempt_id
    with pytest.raises(Unauthorized):
        mine.succeed({})
    for run in runs:
        cluster.http.post(f"/api/v1/runs/{run}/cancel")


def test_a_cancelled_run_has_its_pod_deleted(cluster: Cluster) -> None:
    run = cluster.start()
    pod = cluster.begin(run)
    cluster.http.post(f"/api/v1/runs/{run}/cancel").raise_for_status()
    wait_until(lambda: cluster.leaves(pod))
    cluster.remove(pod)
    cluster.until(run, "cancelled")
    assert cluster.attempts(run)[0]["state"] == "cancelled"


def test_a_pod_that_is_gone_without_a_word_is_made_anew_as_another_attempt(
    cluster: Cluster,
) -> None:
    run = cluster.start()
    pod = cluster.begin(run)
    cluster.remove(pod)
    wait_until(lambda: len(cluster.attempts(run)) == 2)
    assert cluster.attempts(run)[0]["state"] == "lost"
    assert cluster.task(run)["failures"] == 0
    again = wait_until(lambda: cluster.pods(run))[0]
    assert again["metadata"]["name"] != pod["metadata"]["name"]
    cluster.succeed(again)
    cluster.until(run, "succeeded")


def test_a_pod_whose_attempt_ran_out_of_time_is_deleted(cluster: Cluster) -> None:
    run = cluster.start({"timeout_ms": 500})
    pod = cluster.begin(run)
    cluster.until(run, "failed")
    wait_until(lambda: cluster.leaves(pod))
    cluster.remove(pod)


def test_a_pod_that_cannot_be_made_just_now_is_made_later(
    cluster: Cluster, kube: KubeServer
) -> None:
    kube.faults.refuse(500, times=2, verb="create")
    run = cluster.start()
    cluster.succeed(cluster.pod(run))
    cluster.until(run, "succeeded")
    assert len(cluster.attempts(run)) == 1


def test_a_namespace_that_is_not_there_is_the_definitions_fault(cluster: Cluster) -> None:
    run = cluster.start({"max_retries": 3}, namespace="nowhere")
    cluster.until(run, "failed")
    [attempt] = cluster.attempts(run)
    assert attempt["error"]["code"] == "pod.config"


def test_a_pod_that_is_forbidden_is_tried_a_few_times_and_then_given_up(
    cluster: Cluster, kube: KubeServer
) -> None:
    kube.faults.refuse(403, times=2, verb="create")
    cluster.succeed(cluster.pod(run := cluster.start()))
    cluster.until(run, "succeeded")
    before = kube.faults.met[403]
    kube.faults.refuse(403, times=100, verb="create")
    run = cluster.start({"max_retries": 3})
    wait_until(lambda: "it is forbidden, try" in cluster.get(run, "/why")["line"])
    cluster.until(run, "failed")
    kube.faults.clear()
    [attempt] = cluster.attempts(run)
    assert attempt["error"]["code"] == "pod.config"
    assert "was forbidden 3 times, and is given up" in attempt["error"]["message"]
    assert "the right to make pods" in attempt["error"]["message"]
    assert kube.faults.met[403] == before + 3


def test_a_pod_that_no_cluster_takes_fails_at_once(cluster: Cluster, kube: KubeServer) -> None:
    kube.faults.refuse(422, verb="create")
    run = cluster.start({"max_retries": 3})
    cluster.until(run, "failed")
    [attempt] = cluster.attempts(run)
    assert "trying again would not help" in attempt["error"]["message"]
    assert "422" in attempt["error"]["message"]


@pytest.mark.parametrize(
    ("pod", "place"),
    [
        ({"image": "Not An Image"}, "pod.image"),
        ({}, "pod.image"),
        ({"resources": {"memory": "much"}}, "pod.resources.memory"),
        ({"env": {"1X": "a"}}, "pod.env.1X"),
        ({"namespace": "No_Such"}, "pod.namespace"),
        ({"colour": "red"}, "pod.colour"),
        ({"secrets": {"A": "nokey"}}, "pod.secrets.A"),
        ({"sdk": "yes"}, "pod.sdk"),
    ],
)
def test_a_pod_that_could_not_be_made_is_refused_when_it_is_published(
    cluster: Cluster, pod: dict[str, object], place: str
) -> None:
    spec = pod if place == "pod.image" else {"image": "a:1", **pod}
    nodes = {"work": {"exec_type": "pod", "pod": spec}}
    body = {"definition": {"start": "work", "nodes": nodes}}
    answer = cluster.http.post("/api/v1/flows/bad/versions", json=body)
    assert answer.status_code == 422
    assert f"nodes.work.{place}" in answer.text


def test_a_server_that_is_killed_makes_no_second_pod_and_takes_every_result(
    kube: KubeServer, tmp_path: Path, fresh_database: str
) -> None:
    """Killed while pods run and, for some, between what is decided and what is made."""
    with cluster_on(fresh_database, kube, tmp_path / "log") as cluster:
        runs = [cluster.start() for _ in range(PODS)]
        for run in runs:
            cluster.begin(run)
        kube.faults.refuse(500, times=10_000, verb="create")
        runs += [cluster.start() for _ in range(3)]
        for run in runs[PODS:]:
            wait_until(lambda run=run: cluster.attempts(run))
        wait_until(lambda: kube.faults.met[500] >= 3)
        cluster.server.kill()
        kube.faults.clear()
        for run in runs[: PODS // 2]:
            cluster.succeed(cluster.pod(run))
        time.sleep(2.5)  # longer than the lease of anything that had one
        cluster.server.start()
        for run in runs[PODS // 2 :]:
            cluster.succeed(cluster.pod(run))
        for run in runs:
            cluster.until(run, "succeeded")
            assert len(cluster.attempts(run)) == 1
        assert _made(kube, set(runs)) == len(runs)


def test_two_servers_share_the_work_and_make_each_pod_once(
    kube: KubeServer, tmp_path: Path, fresh_database: str
) -> None:
    with (
        cluster_on(fresh_database, kube, tmp_path / "log") as cluster,
        server_on(fresh_database, kube, tmp_path / "other") as other,
    ):
        runs = [cluster.start() for _ in range(6)]
        for run in runs[:3]:
            cluster.succeed(cluster.begin(run))
        other.kill()
        for run in runs[3:]:
            cluster.succeed(cluster.pod(run))
        for run in runs:
            cluster.until(run, "succeeded")
            assert len(cluster.attempts(run)) == 1
        assert _made(kube, set(runs)) == len(runs)


def _made(kube: KubeServer, runs: set[str]) -> int:
    """How many pods of some runs were ever made."""
    _, changes = kube.objects.since(kube.objects.oldest, "pods", "")
    made = [change.after for change in changes if change.before is None and change.after]
    label = "flowforge.io/workflow-id"
    return sum(1 for pod in made if pod["metadata"]["labels"][label] in runs)


def test_pods_of_a_tenant_go_to_its_own_namespace(kube: KubeServer, tmp_path: Path) -> None:
    kube.objects.create("namespaces", {"metadata": {"name": "team-a"}})
    option = ("--kube-namespace", "default=team-a")
    with cluster_on(f"sqlite:///{tmp_path / 'w.db'}", kube, tmp_path / "log", *option) as cluster:
        run = cluster.start()
        assert cluster.pod(run)["metadata"]["namespace"] == "team-a"
        cluster.succeed(cluster.pod(run))
        cluster.until(run, "succeeded")
        cluster.until(cluster.start(namespace="default"), "failed")


def test_without_a_launcher_a_task_says_what_it_waits_for(cluster: Cluster, tmp_path: Path) -> None:
    plain = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", TOKEN)
    other = Cluster(plain, cluster.kube)
    with plain, other.http:
        run = other.start()
        assert "no server launches pods" in other.get(run, "/why")["line"]


def test_the_example_runs(cluster: Cluster) -> None:
    """A pod, then one for each part at once, with what is counted in a variable."""
    folder = Path(__file__).parents[2] / "examples" / "pods"
    definition = yaml.safe_load((folder / "report.yaml").read_text())
    run = cluster.run(definition, {"day": "2026-11-16"})
    first = cluster.pod(run)
    env = {item["name"]: item.get("value") for item in first["spec"]["containers"][0]["env"]}
    assert env["WINDLASS_INPUT"] == '"2026-11-16"'
    cluster.succeed(first)
    parts = wait_until(lambda: len(found := cluster.pods(run)) == 3 and found)
    for pod in parts:
        cluster.succeed(pod)
    cluster.until(run, "succeeded")
