"""Why a pod waits, and Kubernetes' own events of it: the same from every server, and afterwards."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.integration.pods import TOKEN, Cluster, cluster_on
from windlass.cli.main import cli
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.processes import ServerProcess, wait_until

Json = dict[str, Any]
NO_ROOM = "0/3 nodes are available: 3 Insufficient cpu."
BACK_OFF = 'Back-off pulling image "registry.example/none:1"'


def detail(cluster: Cluster, attempt: str) -> Json:
    answer = cluster.http.get(f"/api/v1/pods/{attempt}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def test_kubernetes_events_of_a_pod_are_told_counted_and_outlive_it(cluster: Cluster) -> None:
    run = cluster.start()
    pod = cluster.pod(run)
    where = (pod["metadata"]["namespace"], pod["metadata"]["name"])
    tell = cluster.kube.events.tell
    series = {"count": 4, "lastObservedTime": "2026-01-01T00:02:00.000000Z"}
    tell(*where, "FailedScheduling", NO_ROOM, series=series, count=None, lastTimestamp=None)
    tell(*where, "BackOff", BACK_OFF, count=2)
    tell(*where, "BackOff", BACK_OFF, count=3)
    cluster.find_no_node(pod)
    attempt = cluster.attempts(run)[0]["id"]

    def told() -> list[Json]:
        events = detail(cluster, attempt)["kubernetes"]
        return list(events["items"]) if events else []

    wait_until(lambda: len(told()) == 2)
    found = {event["reason"]: event for event in told()}
    assert (found["FailedScheduling"]["message"], found["FailedScheduling"]["count"]) == (
        NO_ROOM,
        4,
    )
    assert (found["BackOff"]["message"], found["BackOff"]["count"]) == (BACK_OFF, 5)
    assert found["BackOff"]["type"] == "Warning"
    assert found["BackOff"]["source"] == "kubelet"

    cluster.begin(run)
    tell(*where, "Killing", "Stopping container main", type="Normal")
    at = kinds.now()
    cluster.set(pod, kinds.failed(at, kinds.ended(137, "OOMKilled", at)))
    cluster.until(run, "failed")
    wait_until(lambda: cluster.leaves(pod))
    last = told()[-1]
    assert (last["reason"], last["type"]) == ("Killing", "Normal")
    assert len(told()) == 3

    at_server = {"WINDLASS_URL": cluster.server.url, "WINDLASS_TOKEN": TOKEN, "COLUMNS": "200"}
    shown = CliRunner().invoke(cli, ["pod", "show", where[1]], env=at_server)
    assert shown.exit_code == 0, shown.output
    assert f"Warning BackOff (x5): {BACK_OFF}" in shown.output
    shown = CliRunner().invoke(cli, ["pod", "show", where[1], "--json"], env=at_server)
    assert json.loads(shown.output)["kubernetes"]["state"] == "read"

    assert cluster.http.delete(f"/api/v1/runs/{run}").status_code in (200, 204)
    assert cluster.http.get(f"/api/v1/pods/{attempt}").status_code == 404


def test_why_a_pod_waits_is_the_same_from_every_server_and_after_a_restart(
    kube: KubeServer, tmp_path: Path
) -> None:
    db = f"sqlite:///{tmp_path / 'w.db'}"
    plain = ServerProcess(db, "--admin-token", TOKEN, "--role", "api")
    with cluster_on(db, kube, tmp_path / "log", "--kube-unschedulable-s", "600") as cluster:
        run = cluster.start()
        pod = cluster.pod(run)
        cluster.find_no_node(pod)
        why = wait_until(lambda: NO_ROOM in (found := cluster.get(run, "/why")["line"]) and found)
        attempt = cluster.attempts(run)[0]["id"]
        wait_until(lambda: detail(cluster, attempt)["kubernetes"] is not None)
        waits = [e for e in detail(cluster, attempt)["events"] if e["kind"] == "waits"]
        other = Cluster(plain, kube)
        with plain, other.http:
            assert other.get(run, "/why")["line"] == why
            assert NO_ROOM in detail(other, attempt)["pod"]["waitsFor"]
            assert detail(other, attempt)["events"] == detail(cluster, attempt)["events"]
            assert detail(other, attempt)["kubernetes"] == detail(cluster, attempt)["kubernetes"]
            cluster.server.kill()
            assert other.get(run, "/why")["line"] == why
            cluster.server.start()
            wait_until(lambda: cluster.http.get("/api/v1/pods").json()["launched"])
            assert cluster.get(run, "/why")["line"] == why
            cluster.begin(run, "n3")
            after = [e for e in detail(other, attempt)["events"] if e["kind"] == "waits"]
            assert after[: len(waits)] == waits, "what was known is told once, and stays"
            assert detail(other, attempt)["pod"]["waitsFor"] == ""


def test_a_server_that_may_not_read_events_says_so_and_does_all_else(
    kube: KubeServer, tmp_path: Path
) -> None:
    kube.faults.refuse(403, times=1_000, verb="events")
    with cluster_on(f"sqlite:///{tmp_path / 'w.db'}", kube, tmp_path / "log") as cluster:
        run = cluster.start()
        pod = cluster.pod(run)
        attempt = cluster.attempts(run)[0]["id"]
        told = wait_until(lambda: detail(cluster, attempt)["kubernetes"])
        assert (told["state"], told["items"]) == ("forbidden", [])
        at_server = {"WINDLASS_URL": cluster.server.url, "WINDLASS_TOKEN": TOKEN}
        shown = CliRunner().invoke(cli, ["pod", "show", pod["metadata"]["name"]], env=at_server)
        assert "may not be read" in shown.output
        cluster.begin(run)
        cluster.succeed(pod)
        cluster.until(run, "succeeded")
        wait_until(lambda: cluster.leaves(pod))
    kube.faults.clear()
