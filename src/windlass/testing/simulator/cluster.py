"""A pretended cluster: pods outlive every server, and come to every end that a pod can come to.

Its objects are those of the Pod API server for tests, without HTTP. A kubelet of its own plays each
pod's life, outside of every process. What each pod really was is kept, for the checks.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from windlass.drivers.dispatch.pod_sync import sighting
from windlass.kube.api import KubeRefused
from windlass.kube.facts import attempt_of, task_of
from windlass.kube.interpret import Deadlines, Observation, gone, observe
from windlass.kube.pods import Pod
from windlass.model.errors import Unavailable
from windlass.model.ids import attempt_id
from windlass.model.pods import PodClass, PodStatus
from windlass.testing.kube import kinds
from windlass.testing.kube.objects import Json, Objects
from windlass.testing.kube.pods import PODS, Pods
from windlass.testing.kube.problems import ApiError
from windlass.testing.kube.secrets import SECRETS, Secrets
from windlass.testing.kube.selectors import selector
from windlass.testing.simulator.checks.rows import Broken
from windlass.testing.simulator.loop import VirtualLoop
from windlass.testing.simulator.plan import Plan
from windlass.testing.simulator.process import outside

EPOCH_S = 1_800_000_000.0
DEADLINES = Deadlines(unschedulable_s=1.0, creating_s=1.0, leaving_s=2.0)
_FAR_S = 1e11
_MAX_S = 600.0
HandIn = Callable[[str, bool], Coroutine[Any, Any, None]]


class Cluster:
    """All pods of a world."""

    def __init__(self, plan: Plan, loop: VirtualLoop, fail: Callable[[BaseException], None]):
        self._plan = plan
        self._loop = loop
        self._fail = fail
        self._rng: random.Random = plan.rng("kubelet")
        self.objects = Objects()
        self.pods = Pods(self.objects, now=self.now, new_uid=self._new_uid)
        self.secrets = Secrets(self.objects)
        self.calm = False
        self.truths: defaultdict[str, set[str]] = defaultdict(set)
        """By uid, and by name: all that could rightly be said of a pod so far."""
        self.refused: set[str] = set()
        """Pods that were not made because the API server would not."""
        self.watchers: list[Callable[[Pod], None]] = []
        """Told of every change of a pod."""
        self.hand_in: HandIn | None = None
        """What the program in a pod does with its result."""
        for tenant in plan.tenants:
            self.objects.create("namespaces", {"metadata": {"name": namespace_of(tenant)}})

    def now(self) -> float:
        return EPOCH_S + self._loop.time()

    def _new_uid(self) -> str:
        return f"{self._rng.getrandbits(64):016x}"

    def names(self) -> list[str]:
        """Every pod there is."""
        _, found = self.objects.select(PODS, "", lambda _: True)
        return [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in found]

    def forgotten(self) -> list[str]:
        """Secrets that nobody will ever delete."""
        _, found = self.objects.select(SECRETS, "", lambda _: True)
        return [secret["metadata"]["name"] for secret in found]

    # The API server

    def serve(
        self, method: str, path: str, params: Mapping[str, str], body: Json | None
    ) -> bytes | Json:
        """Do what a request asks for, at once."""
        where = path.removeprefix("/api/v1/").split("/")
        match method, where:
            case "GET", ["pods"] | ["namespaces", _, "pods"]:
                namespace = where[1] if len(where) > 1 else ""
                chosen = selector(params.get("labelSelector", ""), "")
                version, found = self.objects.select(PODS, namespace, chosen)
                return {"metadata": {"resourceVersion": str(version)}, "items": found}
            case "POST", ["namespaces", namespace, "pods"]:
                return self._create(namespace, body or {})
            case "GET", ["namespaces", namespace, "pods", name]:
                return self.objects.get(PODS, namespace, name)
            case "GET", ["namespaces", namespace, "pods", name, "log"]:
                return self.pods.log(namespace, name, None).encode()
            case "GET", ["namespaces", _, "events"]:
                return {"metadata": {}, "items": [{"reason": "Scheduled", "count": 1}]}
            case "DELETE", ["namespaces", namespace, "pods", name]:
                return self._delete(namespace, name, body or {})
            case "POST", ["namespaces", namespace, "secrets"]:
                return self.secrets.create(namespace, body or {})
            case "PATCH", ["namespaces", namespace, "secrets", name]:
                return self.secrets.patch(namespace, name, body or {})
            case "DELETE", ["namespaces", namespace, "secrets", name]:
                return self.secrets.delete(namespace, name)
            case _:
                raise ApiError(404, "NotFound", f"{method} {path}")

    def _create(self, namespace: str, body: Json) -> Json:
        made = self.pods.create(namespace, body)
        pod = as_pod(made)
        self.truths[pod.metadata.uid] = self.truths[f"{namespace}/{pod.metadata.name}"]
        mine = attempt_id(task_of(pod), attempt_of(pod) or 0)
        _, there = self.objects.select(PODS, "", lambda _: True)
        same = [other for other in map(as_pod, there) if attempt_in(other) == mine]
        if len(same) > 1:
            names = [other.metadata.name for other in same]
            self._fail(Broken(f"attempt {mine} has {len(same)} pods at once: {names}"))
        self.spawn(self._live(namespace, pod.metadata.name, pod.metadata.uid, made))
        return made

    def _delete(self, namespace: str, name: str, options: Json) -> Json:
        before = self.objects.get(PODS, namespace, name)
        after = self.pods.delete(namespace, name, options)
        uid = before["metadata"]["uid"]
        self._gone(before)
        self.secrets.collect()
        if self._has(namespace, name, uid) and "deletionTimestamp" not in before["metadata"]:
            self._changed(after)
            self.spawn(self._leave(namespace, name, uid))
        return after

    # The kubelet

    def spawn(self, doing: Coroutine[Any, Any, None]) -> None:
        """Do something in nobody's process: it outlives whoever asked for it."""
        self._loop.create_task(self._kept(doing), context=outside())

    async def _kept(self, doing: Coroutine[Any, Any, None]) -> None:
        try:
            await doing
        except ApiError:
            return  # the pod went meanwhile

    async def _live(self, namespace: str, name: str, uid: str, made: Json) -> None:
        """One pod's life, from when it is taken by a node."""
        fate = self._fate()
        await self._while_away()
        place = (namespace, name, uid)
        if isinstance(fate, kinds.Kind):
            await self._fails(place, fate)
            return
        if not self._set(place, kinds.running(self._at()), node="n1"):
            return
        await self._while_away()
        if fate == "vanishes":
            self._remove(place)
            return
        until = self._loop.time() + _MAX_S
        while fate == "hangs" and not self.calm and self._loop.time() < until:
            await asyncio.sleep(0.5)
        await self._work(place, made, silent=fate == "silent")

    def _fate(self) -> str | kinds.Kind:
        if self.calm:
            return "succeeds"
        chance = self._rng.random()
        if chance < 0.35:
            return "succeeds"
        if chance < 0.5:
            return self._rng.choice(("hangs", "vanishes", "silent"))
        return self._rng.choice(kinds.FAILURES)

    async def _work(self, place: tuple[str, str, str], made: Json, *, silent: bool) -> None:
        """Hand in a result where that is the pod's to do, and end well."""
        env = {item["name"]: item for item in made["spec"]["containers"][0]["env"]}
        attempt = str(env["WINDLASS_ATTEMPT"]["value"])
        sdk = "FLOWFORGE_AUTH_TOKEN" in env
        assert self.hand_in is not None
        if not (sdk and silent):
            await self.hand_in(attempt, sdk)
        await self._while_away()
        at = self._at()
        done = kinds.failed(at, kinds.ended(0, "Completed", at)) | {"phase": "Succeeded"}
        self._set(place, done)

    async def _fails(self, place: tuple[str, str, str], kind: kinds.Kind) -> None:
        started = kind.deleted or self._rng.random() < 0.3
        if started and not self._set(place, kinds.running(self._at()), node="n1"):
            return
        await self._while_away()
        if not self._set(place, kind.status(self._at()), node=kind.node):
            return
        if kind.deleted:
            await self._while_away()
            if self._has(*place):
                self._delete(place[0], place[1], {})

    async def _leave(self, *place: str) -> None:
        """What is told to stop stops, and is then taken away."""
        namespace, name, uid = place
        await self._while_away()
        if not self._has(namespace, name, uid):
            return
        at = self._at()
        phase = self.objects.get(PODS, namespace, name)["status"]["phase"]
        if phase == "Running" and self._rng.random() < 0.5:
            self._set((namespace, name, uid), kinds.failed(at, kinds.ended(143, "Error", at)))
            await self._while_away()
        if self._has(namespace, name, uid):
            self._remove((namespace, name, uid))

    async def _while_away(self) -> None:
        if self.calm:
            await asyncio.sleep(0.02)
        else:
            await asyncio.sleep(self._rng.choice((0.01, 0.1, 0.1, 0.6, 2.0)) * self._rng.random())

    # Changes

    def _set(self, place: tuple[str, str, str], status: Json, node: str = "") -> bool:
        """Show a status of a pod, on its node; false if the pod is not there any more."""
        namespace, name, uid = place
        if not self._has(namespace, name, uid):
            return False
        present = self.objects.get(PODS, namespace, name)
        if node and not present["spec"].get("nodeName"):
            self.pods.bind(namespace, name, node)
        self._changed(self.pods.patch_status(namespace, name, {"status": status}))
        return True

    def _remove(self, place: tuple[str, str, str]) -> None:
        namespace, name, _ = place
        self._gone(self.objects.get(PODS, namespace, name))
        self.pods.delete(namespace, name, {"gracePeriodSeconds": 0})
        self.secrets.collect()

    def _has(self, namespace: str, name: str, uid: str) -> bool:
        if not self.objects.has(PODS, namespace, name):
            return False
        return bool(self.objects.get(PODS, namespace, name)["metadata"]["uid"] == uid)

    def _at(self) -> float:
        return float(int(self.now()))

    def _changed(self, item: Json) -> None:
        pod = as_pod(item)
        self._note(pod, observe(pod, _FAR_S, DEADLINES))
        for watch in self.watchers:
            watch(pod)

    def _gone(self, item: Json) -> None:
        """It is about to go: what it was seen as last, or that nobody saw why, is then right."""
        pod = as_pod(item)
        self._note(pod, gone(pod, _FAR_S))
        self.truths[pod.metadata.uid] |= {PodClass.NODE_LOST, PodClass.DELETED}

    def _note(self, pod: Pod, seen: Observation | None) -> None:
        if seen is None:
            return
        failed = seen.status in (PodStatus.FAILED, PodStatus.CANCELED)
        shown = sighting("", pod.metadata.uid, seen)
        self.truths[pod.metadata.uid].add(shown.failure_class if failed else seen.status)


class ClusterApi:
    """The API server as one process reaches it: slow, away, and unsure whether it has done it."""

    def __init__(self, cluster: Cluster, plan: Plan, loop: VirtualLoop, name: str) -> None:
        self._cluster = cluster
        self._loop = loop
        self._rng = plan.rng(f"cluster:{name}")
        self._troubled = plan.has("unavailable")

    async def close(self) -> None:
        return

    async def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> bytes:
        troubled = self._troubled and not self._cluster.calm
        chance = self._rng.random() if troubled else 1.0
        if chance < 0.05:
            raise Unavailable("the API server is away", 0.1)
        if chance < 0.08:
            raise KubeRefused(self._rng.choice((429, 500)), "not now")
        if chance < 0.10 and method == "POST":
            self._cluster.refused.add(pod_in(path, body))
            refusals = ((403, "exceeded quota: pods"), (403, "no right"), (422, "no such pod"))
            raise KubeRefused(*self._rng.choice(refusals))
        answer = await self._served(method, path, params or {}, body)
        if chance > 0.95 and troubled:
            raise Unavailable("the connection broke before the answer", 0.1)
        return answer

    async def _served(self, method: str, path: str, params: Mapping[str, str], body: Any) -> bytes:
        """Have it done in the cluster's own time: also if whoever asks is gone by then."""
        done: asyncio.Future[bytes] = self._loop.create_future()

        def work() -> None:
            try:
                answer = self._cluster.serve(method, path, params, body)
            except ApiError as error:
                if not done.done():
                    done.set_exception(KubeRefused(error.code, error.message))
                return
            if not done.done():
                raw = answer if isinstance(answer, bytes) else msgspec.json.encode(answer)
                done.set_result(raw)

        self._loop.call_later(self._way_s(), work, context=outside())
        answer = await done
        await asyncio.sleep(self._way_s())
        return answer

    def _way_s(self) -> float:
        slow = not self._cluster.calm and self._rng.random() < 0.2
        return self._rng.uniform(0.1, 2.0) if slow else self._rng.uniform(0.001, 0.02)


def namespace_of(tenant: str) -> str:
    return f"of-{tenant}"


def as_pod(item: Json) -> Pod:
    return msgspec.convert(item, Pod)


def attempt_in(pod: Pod) -> str:
    return attempt_id(task_of(pod), attempt_of(pod) or 0)


def pod_in(path: str, body: Any) -> str:
    return f"{path.split('/')[4]}/{body['metadata']['name']}"
