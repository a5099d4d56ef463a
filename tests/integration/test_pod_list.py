"""Pods listed: over HTTP and by the command, on both stores."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.integration.pods import TOKEN, Cluster, cluster_on
from windlass.cli.main import cli
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.processes import ServerProcess, wait_until

Json = dict[str, Any]


def listed(cluster: Cluster, **asked: Any) -> Json:
    answer = cluster.http.get("/api/v1/pods", params=asked)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def items(cluster: Cluster, **asked: Any) -> list[Json]:
    return list(listed(cluster, **asked)["items"])


def test_a_pod_is_listed_with_what_it_waits_for_says_and_ends_with(cluster: Cluster) -> None:
    run = cluster.start(sdk=True, image="registry.example/count:7")
    pod = cluster.pod(run)
    [waiting] = wait_until(lambda: (found := items(cluster, q=run)) and found[0]["uid"] and found)
    assert waiting["pod"] == pod["metadata"]["name"]
    assert waiting["namespace"] == "default"
    assert waiting["uid"] == pod["metadata"]["uid"]
    assert (waiting["runId"], waiting["node"], waiting["number"]) == (run, "work", 1)
    assert waiting["taskId"] in waiting["attemptId"]
    assert waiting["flow"].startswith("pods-")
    assert waiting["image"] == "registry.example/count:7"
    assert waiting["state"] == "claimed"
    assert waiting["progress"] is None
    wait_until(lambda: items(cluster, q=run)[0]["waitsFor"])

    cluster.begin(run)
    program = cluster.program(pod)
    with program:
        program.progress(0.5, "counting rows")
    [running] = items(cluster, q=run, state="running")
    assert running["waitsFor"] == ""
    assert running["since"] >= waiting["since"]
    assert (running["progress"]["share"], running["progress"]["message"]) == (0.5, "counting rows")

    at = kinds.now()
    cluster.set(pod, kinds.failed(at, kinds.ended(3, "Error", at)))
    cluster.until(run, "failed")
    assert items(cluster, q=run) == []
    [failed] = items(cluster, q=run, state="failed")
    assert failed["failureClass"] == "pod.error"
    assert failed["reason"]
    assert failed["attemptId"] == waiting["attemptId"]


def test_pods_are_found_by_namespace_and_names_and_come_in_pages(cluster: Cluster) -> None:
    runs = [cluster.start() for _ in range(3)]
    names = {run: cluster.pod(run)["metadata"]["name"] for run in runs}
    flow = items(cluster, q=runs[0])[0]["flow"]
    assert [row["runId"] for row in items(cluster, q=names[runs[1]].upper())] == [runs[1]]
    assert runs[0] in {row["runId"] for row in items(cluster, q=flow)}
    assert {row["runId"] for row in items(cluster, q="work")} >= set(runs)
    assert items(cluster, namespace="def") == []
    assert items(cluster, namespace="d_fault") == []
    assert {row["runId"] for row in items(cluster, namespace="default")} >= set(runs)
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = listed(cluster, limit=1, cursor=cursor)
        found += [row["runId"] for row in page["items"]]
        cursor = page["next"]
    assert [run for run in found if run in runs] == runs[::-1]
    for run in runs:
        cluster.succeed(cluster.pod(run))
        cluster.until(run, "succeeded")
    assert not {row["runId"] for row in items(cluster)} & set(runs)
    assert {row["runId"] for row in items(cluster, state="all", limit=500)} >= set(runs)


def test_what_is_no_state_or_cursor_is_refused(cluster: Cluster) -> None:
    answer = cluster.http.get("/api/v1/pods", params={"state": "gone"})
    assert answer.status_code == 400
    assert "one of all, claimed" in answer.text
    assert cluster.http.get("/api/v1/pods", params={"q": "x" * 300}).status_code == 400
    assert cluster.http.get("/api/v1/pods", params={"limit": "0"}).status_code == 400


def test_the_command_lists_pods_with_filters(cluster: Cluster) -> None:
    run = cluster.start()
    name = cluster.pod(run)["metadata"]["name"]

    def told(*args: str) -> str:
        at = {"WINDLASS_URL": cluster.server.url, "WINDLASS_TOKEN": TOKEN, "COLUMNS": "200"}
        done = CliRunner().invoke(cli, ["pod", "ls", *args], env=at)
        assert done.exit_code == 0, done.output
        return done.output

    assert name in told(run)
    [row] = json.loads(told(run, "--json", "--namespace", "default", "--state", "claimed"))
    assert (row["runId"], row["pod"]) == (run, name)
    cluster.succeed(cluster.pod(run))
    cluster.until(run, "succeeded")
    assert "--all" in told(run)
    assert name in told(run, "--all")

    at = {"WINDLASS_URL": cluster.server.url, "WINDLASS_TOKEN": TOKEN, "COLUMNS": "200"}
    shown = CliRunner().invoke(cli, ["pod", "show", name], env=at)
    assert shown.exit_code == 0, shown.output
    assert "made" in shown.output
    assert "succeeded" in shown.output
    assert CliRunner().invoke(cli, ["pod", "show", "nobody"], env=at).exit_code == 2


def test_without_a_launcher_the_list_says_so_and_what_waits(
    cluster: Cluster, tmp_path: Path
) -> None:
    assert listed(cluster)["launched"] is True
    plain = ServerProcess(f"sqlite:///{tmp_path / 'w.db'}", "--admin-token", TOKEN)
    other = Cluster(plain, cluster.kube)
    with plain, other.http:
        other.start()
        page = wait_until(lambda: (found := listed(other))["queued"] == 1 and found)
        assert (page["items"], page["launched"]) == ([], False)


def test_a_tenant_sees_its_own_pods_and_nobody_elses(kube: KubeServer, tmp_path: Path) -> None:
    kube.objects.create("namespaces", {"metadata": {"name": "team-red"}})
    option = ("--kube-namespace", "red=team-red")
    with cluster_on(f"sqlite:///{tmp_path / 'w.db'}", kube, tmp_path / "log", *option) as cluster:
        tokens = {}
        for tenant in ("red", "blue"):
            body = {"name": tenant, "role": "admin", "tenant": tenant}
            tokens[tenant] = cluster.http.post("/api/v1/tokens", json=body).json()["token"]

        def seen_by(tenant: str, **asked: str) -> list[str]:
            cluster.http.headers["Authorization"] = f"Bearer {tokens[tenant]}"
            return [row["runId"] for row in items(cluster, **asked)]

        seen_by("red")
        run = cluster.start()
        cluster.pod(run)
        assert seen_by("red") == seen_by("red", state="all") == [run]
        assert listed(cluster)["launched"] is True
        attempt = cluster.attempts(run)[0]["id"]
        assert cluster.http.get(f"/api/v1/pods/{attempt}").status_code == 200
        assert seen_by("blue") == seen_by("blue", state="all", q=run) == []
        assert cluster.http.get(f"/api/v1/pods/{attempt}").status_code == 404


def test_what_happened_to_a_pod_is_told_in_order_with_what_it_waited_for(cluster: Cluster) -> None:
    run = cluster.start(
        image="registry.example/hungry:1", resources={"cpu": "500m", "memory": "1Gi"}
    )
    pod = cluster.pod(run)
    cluster.find_no_node(pod)
    wait_until(lambda: any("nodes are available" in i["waitsFor"] for i in items(cluster, q=run)))
    cluster.begin(run, "n7")
    at = kinds.now()
    cluster.set(pod, kinds.failed(at, kinds.ended(137, "OOMKilled", at)))
    cluster.until(run, "failed")

    attempt = cluster.attempts(run)[0]["id"]
    answer = cluster.http.get(f"/api/v1/pods/{attempt}")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["cpu"], found["memory"], found["gpu"]) == ("500m", "1Gi", 0)
    assert found["clusterNode"] == "n7"
    assert found["pod"]["failureClass"] == "pod.oom"
    kinds_ = [event["kind"] for event in found["events"]]
    assert kinds_[:3] == ["taken", "decided", "made"]
    assert [kind for kind in kinds_[3:] if kind != "waits"] == ["runs", "ended"]
    waited = [event["message"] for event in found["events"] if event["kind"] == "waits"]
    assert any("0/3 nodes are available" in message for message in waited)
    assert found["events"][-1]["failureClass"] == "pod.oom"
    assert found["events"][-1]["state"] == "failed"

    assert cluster.http.get(f"/api/v1/pods/{run}~work.1@9").status_code == 404
    assert cluster.http.get("/api/v1/pods/nothing").status_code in (400, 404)
