"""Launches pods: claims tasks that are to be pods, detaches their attempts, and makes the pods.

The order is what makes it safe. An attempt is detached under its pod's name before the pod is
made: whatever dies in between, no lease runs out and no second attempt begins, and whoever looks
next (`pod_sync`) makes the same pod by the same name.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import anyio

from windlass.drivers.dispatch.pod_api import PodApi
from windlass.drivers.dispatch.pod_manifest import (
    AUTH_VARIABLE,
    INPUT_BYTES_MAX,
    INSTALLATION,
    manifest,
    pod_name,
    secret,
)
from windlass.kube.api import KubeRefused
from windlass.kube.pods import Pod
from windlass.model.assignment import Assignment
from windlass.model.errors import Unavailable, WindlassError
from windlass.model.pods import NAMESPACE, PodClass, PodReason, PodSighting, PodStatus
from windlass.model.rows import Failure
from windlass.model.tenants import DEFAULT
from windlass.ports.pods import PodTask, PodWork
from windlass.protocol.pod_facts import WORKLOAD

log = logging.getLogger(__name__)

WORKER = "kubernetes"
"""Who has the attempts that are pods: no one server does."""
_LOOK_S = 2.0
_LATER = frozenset({401, 408, 409, 410, 429, 500, 502, 503, 504})
"""Answers that say nothing against the pod: the next look makes it."""
REFUSED_TRIES = 12
"""A right that is missing may be given in a minute; who waits for longer is to hear of it."""


class Namespaces:
    """Which namespaces the pods of a tenant may be made in, the first being its own."""

    def __init__(self, allowed: Mapping[str, tuple[str, ...]]) -> None:
        self._allowed = allowed

    @property
    def all(self) -> set[str]:
        return {name for names in self._allowed.values() for name in names}

    @property
    def listed(self) -> list[str]:
        """Where pods of ours may be; an empty name stands for everywhere."""
        return sorted(self.all) if DEFAULT in self._allowed else [""]

    def of(self, tenant: str, wanted: str) -> str | None:
        """Where a pod goes; None where that is not for this tenant."""
        allowed = self._allowed.get(tenant)
        if allowed is None:
            # Who has set nothing up for anybody has one team, and its pods go where it says.
            return (wanted or NAMESPACE) if tenant == DEFAULT else None
        if not wanted:
            return allowed[0]
        return wanted if wanted in allowed else None


class PodLauncher:
    """Makes a pod of each attempt it is given; how many there may be at once is its bound."""

    def __init__(
        self,
        work: PodWork,
        api: PodApi,
        *,
        holder: str,
        pods_max: int,
        namespaces: Namespaces,
        endpoints: Mapping[str, str],
        refused_tries: int = REFUSED_TRIES,
        token_in_env: bool = False,
    ) -> None:
        self._work = work
        self._api = api
        self._holder = holder
        self._pods_max = pods_max
        self._namespaces = namespaces
        self._endpoints = endpoints
        self._refused_tries = refused_tries
        self._token_in_env = token_in_env
        self._refusals: Counter[str] = Counter()
        """How often the pod of a live attempt was forbidden, as far as this process knows."""
        self._out: set[str] = set()
        self._launching: set[str] = set()
        self._free = asyncio.Event()

    async def all_pods(self) -> list[Pod]:
        """All pods of this installation, wherever they may be."""
        mark = await self._work.installation()
        selector = f"{WORKLOAD}=true,{INSTALLATION}={mark}"
        found = [await self._api.list(selector, name) for name in self._namespaces.listed]
        return [pod for pods in found for pod in pods]

    async def run(self) -> None:
        """Claim and launch until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                self._free.clear()
                room = self._pods_max - len(self._out | self._launching)
                if room <= 0:
                    await self._free.wait()
                    continue
                try:
                    claimed = await self._claim(room)
                except Unavailable as error:
                    log.warning("no pods are launched for now: %s", error)
                    await asyncio.sleep(error.retry_after_s)
                    continue
                for given in claimed:
                    self._launching.add(given.attempt_id)
                    group.start_soon(self._launch, given)

    async def _claim(self, room: int) -> list[Assignment]:
        names = {NAMESPACE, *self._namespaces.all, *await self._work.namespaces()}
        queues = [f"pod:{name}" for name in sorted(names)]
        waiting = self._work.want(WORKER, queues, room, holder=self._holder)
        try:
            async with asyncio.timeout(_LOOK_S):
                return await waiting.assignments()
        except TimeoutError:
            return await waiting.leave()
        except asyncio.CancelledError:
            for given in waiting.withdraw():
                self._work.give_back(given.attempt_id)
            raise

    def are_out(self, attempts: set[str]) -> None:
        """These are pods just now, as the database says."""
        self._out = attempts
        self._free.set()

    def ended(self, attempt_id: str) -> None:
        self._refusals.pop(attempt_id, None)
        self._out.discard(attempt_id)
        self._free.set()

    async def _launch(self, given: Assignment) -> None:
        try:
            await self.make(given.attempt_id, detach=True)
        # The attempt has its lease, or is detached: either way somebody looks at it again.
        except WindlassError as error:
            log.warning("attempt %s is not a pod yet: %s", given.attempt_id, error)
        except Exception:
            log.exception("attempt %s is not a pod yet", given.attempt_id)
        finally:
            self._launching.discard(given.attempt_id)
            self._free.set()

    async def make(self, attempt_id: str, *, detach: bool) -> str:
        """Make the pod of an attempt, which is detached first where it is not yet; why that has to
        wait, if it has to."""
        task = await self._work.task(attempt_id)
        if task is None:
            return ""
        namespace = self._namespaces.of(task.tenant, task.spec.namespace)
        flaw = _flaw(task, namespace, has_url=bool(self._endpoints))
        if flaw or namespace is None:
            await self._refuse(attempt_id, flaw)
            return ""
        pod = f"{namespace}/{pod_name(task)}"
        if detach and not await self._work.detach(attempt_id, pod):
            return ""
        self._out.add(attempt_id)
        try:
            made = await self._create(task, namespace)
        except Unavailable as error:
            log.warning("pod %s is made later: %s", pod, error)
            await self._drop_secret(task, pod)
            return str(error)
        except KubeRefused as error:
            await self._drop_secret(task, pod)
            return await self._refused(attempt_id, pod, error)
        if not await self._work.detach(attempt_id, pod, made.metadata.uid):
            await self._drop_secret(task, pod)  # it ended meanwhile; the pod is found by the look
        return ""

    async def _create(self, task: PodTask, namespace: str) -> Pod:
        """Make a pod and, before it, the Secret it finds its token in: the kubelet would take one
        that is not there yet for a mistake."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        installation = await self._work.installation()
        told = dict(self._endpoints)
        with_secret = self._with_secret(task)
        if task.spec.sdk:
            token = await self._work.token(task.attempt_id)
            if with_secret:
                await self._api.make_secret(namespace, secret(task, installation, token))
            else:
                told[AUTH_VARIABLE] = token
        body = manifest(task, installation, told, now, with_secret=with_secret)
        pod = await self._api.create(namespace, body)
        if with_secret:
            # At once: a pod that is gone before anybody looks would leave its Secret behind.
            await self._own_secret(f"{namespace}/{pod.metadata.name}", pod.metadata.uid)
        return pod

    async def _own_secret(self, pod: str, uid: str) -> None:
        try:
            await self._api.own_secret(pod, uid)
        except (KubeRefused, Unavailable) as error:
            log.warning("the Secret of pod %s has no owner yet: %s", pod, error)

    async def _drop_secret(self, task: PodTask, pod: str) -> None:
        """Nobody else deletes the Secret of a pod that is not made, of an attempt that has ended
        while the Secret was on its way."""
        if self._with_secret(task) and not await self._work.live([task.attempt_id]):
            await self._api.drop_secret(pod)

    def _with_secret(self, task: PodTask) -> bool:
        return task.spec.sdk and not self._token_in_env

    async def _refused(self, attempt_id: str, pod: str, error: KubeRefused) -> str:
        if error.code == 403 and "exceeded quota" in str(error):
            await self._work.observe(attempt_id, _unmade(pod, PodReason.UNSCHEDULABLE, str(error)))
        elif error.code == 403:
            return await self._forbidden(attempt_id, pod, error)
        elif error.code in _LATER:
            log.warning("pod %s is made later: %s", pod, error)
            return str(error)
        else:
            hint = "correct what the definition says of its pod"
            text = f"it cannot be made, and trying again would not help: {error}; {hint}"
            await self._give_up(attempt_id, pod, text)
        return ""

    async def _forbidden(self, attempt_id: str, pod: str, error: KubeRefused) -> str:
        """Nobody may make this pod: for want of a right, or because a policy of the cluster forbids
        it. The first may be mended in a moment, so it is tried a few times."""
        self._refusals[attempt_id] += 1
        tries, most = self._refusals[attempt_id], self._refused_tries
        if tries < most:
            log.warning("pod %s is forbidden, try %d of %d: %s", pod, tries, most, error)
            return f"it is forbidden, try {tries} of {most}: {error}"
        hint = "give the server's account the right to make pods and Secrets there, or mend the pod"
        text = f"it was forbidden {tries} times, and is given up: {error}; {hint}"
        await self._give_up(attempt_id, pod, text)
        return ""

    async def _give_up(self, attempt_id: str, pod: str, why: str) -> None:
        """Fail an attempt whose pod is refused, unless the pod is there: an earlier call made it,
        and its answer was lost."""
        there = await self._api.find(pod)
        if there is None:
            await self._work.observe(attempt_id, _unmade(pod, PodReason.REFUSED, why))
        else:
            await self._work.detach(attempt_id, pod, there.metadata.uid)

    async def _refuse(self, attempt_id: str, why: str) -> None:
        await self._work.failed(attempt_id, Failure("fatal", why, code=PodClass.CONFIG))


def _unmade(pod: str, reason: PodReason, why: str) -> PodSighting:
    """There is no pod, and why; that counts unless somebody else has made it meanwhile."""
    return PodSighting(status=PodStatus.FAILED, reason=reason, pod=pod, message=why)


def _flaw(task: PodTask, namespace: str | None, *, has_url: bool) -> str:
    """Why no pod can be made, whatever Kubernetes would say."""
    if task.spec.sdk and not has_url:
        hint = "start the server with --kube-server-url"
        return f"a pod with sdk: true must know where to hand in its result; {hint}"
    if namespace is None:
        named = f'"{task.spec.namespace}"' if task.spec.namespace else "it names none"
        hint = "the server's --kube-namespace says which are"
        return f'no namespace of tenant "{task.tenant}" for a pod ({named}); {hint}'
    size = len(task.input.encode())
    if size > INPUT_BYTES_MAX:
        return f"an input of {size:,} bytes; a pod is given {INPUT_BYTES_MAX:,} in a variable"
    return ""
