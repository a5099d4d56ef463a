"""A server that launches pods, the Pod API server it does that by, and a kubelet played by hand."""

import contextlib
import itertools
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from windlass.client.pod import PodAttempt
from windlass.testing.kube import KubeServer, kinds
from windlass.testing.kube.kinds import Kind
from windlass.testing.loopback import free_port
from windlass.testing.processes import ServerProcess, wait_until

TOKEN = "test-admin-token"
Json = dict[str, Any]


def server_on(db: str, kube: KubeServer, log: Path, *args: str) -> ServerProcess:
    options = (
        "--kube-refused-tries",
        "3",
        "--kube-sync-s",
        "0.3",
        "--kube-unschedulable-s",
        "1",
        "--kube-creating-s",
        "1",
    )
    kube_at = ("--admin-token", TOKEN, "--lease-s", "2", "--kube-url", kube.url)
    port = free_port()
    at = ("--kube-server-url", f"http://127.0.0.1:{port}")
    return ServerProcess(db, *kube_at, *options, *at, *args, port=port, log=log)


@contextlib.contextmanager
def cluster_on(db: str, kube: KubeServer, log: Path, *args: str) -> Iterator["Cluster"]:
    """A server that launches pods, for as long as the block runs."""
    with server_on(db, kube, log, *args) as server:
        cluster = Cluster(server, kube)
        with cluster.http:
            yield cluster


class Cluster:
    """Runs whose tasks are pods, seen from both sides."""

    def __init__(self, server: ServerProcess, kube: KubeServer) -> None:
        self.server = server
        self.kube = kube
        self.http = httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=70
        )
        self._flows = itertools.count(1)

    # Runs

    def start(self, node: Json | None = None, **pod: Any) -> str:
        """A run of one task that is a pod."""
        spec = {"image": "registry.example/task:1", **pod}
        nodes = {"work": {"exec_type": "pod", "pod": spec, **(node or {})}}
        return self.run({"start": "work", "nodes": nodes})

    def run(self, definition: Json, params: Json | None = None) -> str:
        name = f"pods-{next(self._flows)}"
        answer = self.http.post(f"/api/v1/flows/{name}/versions", json={"definition": definition})
        assert answer.status_code in (200, 201), answer.text
        answer = self.http.post("/api/v1/runs", json={"flow": name, "params": params or {}})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def get(self, run_id: str, part: str = "") -> Json:
        answer = self.http.get(f"/api/v1/runs/{run_id}{part}")
        answer.raise_for_status()
        found: Json = answer.json()
        return found

    def state(self, run_id: str) -> str:
        return str(self.get(run_id)["state"])

    def until(self, run_id: str, state: str) -> Json:
        wait_until(lambda: self.state(run_id) == state)
        return self.get(run_id)

    def attempts(self, run_id: str) -> list[Json]:
        return sorted(self.get(run_id, "/attempts")["items"], key=lambda row: row["number"])

    def task(self, run_id: str) -> Json:
        [task] = self.get(run_id, "/tasks")["items"]
        return dict(task)

    # Pods

    def pods(self, run_id: str = "") -> list[Json]:
        """The pods there are, of a run or all."""
        _, found = self.kube.objects.select("pods", "", lambda _: True)
        label = "flowforge.io/workflow-id"
        return [pod for pod in found if run_id in ("", pod["metadata"]["labels"][label])]

    def pod(self, run_id: str) -> Json:
        """The one pod of a run, once it is there."""
        [pod] = wait_until(lambda: self.pods(run_id))
        return dict(pod)

    def program(self, pod: Json) -> PodAttempt:
        """What the program in a pod has in hand."""
        env = pod["spec"]["containers"][0]["env"]
        return PodAttempt.from_env({item["name"]: self._value(pod, item) for item in env})

    def _value(self, pod: Json, item: Json) -> str:
        ref = item.get("valueFrom", {}).get("secretKeyRef")
        if ref is None:
            return str(item["value"])
        namespace = pod["metadata"]["namespace"]
        secret = self.kube.objects.get("secrets", namespace, ref["name"])
        return b64decode(secret["data"][ref["key"]]).decode()

    def set(self, pod: Json, status: Json) -> None:
        meta = pod["metadata"]
        self.kube.pods.patch_status(meta["namespace"], meta["name"], {"status": status})

    def find_no_node(self, pod: Json) -> None:
        """Have no room for a pod, since a time so late that its launcher never gives it up."""
        [kind] = [kind for kind in kinds.FAILURES if kind.name == "unschedulable"]
        self.set(pod, kind.status(kinds.now() + 3600))

    def begin(self, run_id: str, node: str = "n1") -> Json:
        """Have a run's pod taken by a node and running."""
        pod = self.pod(run_id)
        self.kube.pods.bind(pod["metadata"]["namespace"], pod["metadata"]["name"], node)
        self.set(pod, kinds.running(kinds.now()))
        wait_until(lambda: self.attempts(run_id)[-1]["state"] == "running")
        return pod

    def succeed(self, pod: Json, log: str = "") -> None:
        meta, at = pod["metadata"], kinds.now()
        if log:
            self.kube.pods.logs[meta["namespace"], meta["name"]] = log
        done = kinds.failed(at, kinds.ended(0, "Completed", at)) | {"phase": "Succeeded"}
        self.set(pod, done)

    def remove(self, pod: Json) -> None:
        """Have a pod gone, as the kubelet does when it has ended."""
        meta = pod["metadata"]
        options = {"gracePeriodSeconds": 0}
        self.kube.pods.delete(meta["namespace"], meta["name"], options)

    def leaves(self, pod: Json) -> bool:
        meta = pod["metadata"]
        found = [p for p in self.pods() if p["metadata"]["name"] == meta["name"]]
        return not found or "deletionTimestamp" in found[0]["metadata"]

    def play(self, run_id: str, kind: Kind) -> None:
        """Have a run's pod come to one of the ends there are."""
        at = kinds.now() - (5 if kind.name in kinds.TIMED else 0)
        pod = self.begin(run_id, kind.node) if kind.deleted else self.pod(run_id)
        if kind.node and not kind.deleted:
            self.kube.pods.bind(pod["metadata"]["namespace"], pod["metadata"]["name"], kind.node)
        self.set(pod, kind.status(at))
        if kind.deleted:
            self.kube.pods.delete(pod["metadata"]["namespace"], pod["metadata"]["name"], {})
