"""Compares attempts with pods, so that nothing depends on anybody having been there in time.

Attempts are read first and pods listed after: whatever attempt has a pod then, has it in the list,
or lost it. Of each it says what a collector would (`kube/interpret`), and twice harms nobody. Pods
of attempts that have ended are deleted once the end of their log is kept.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from windlass.drivers.dispatch.pod_api import PodApi
from windlass.drivers.dispatch.pod_events import PodEvents, Waiting
from windlass.drivers.dispatch.pod_launcher import PodLauncher
from windlass.drivers.dispatch.pod_manifest import HAS_CREDENTIAL
from windlass.kube.api import KubeRefused
from windlass.kube.facts import attempt_of, task_of
from windlass.kube.interpret import Deadlines, Observation, gone, observe
from windlass.kube.pods import Pod
from windlass.model.errors import Unavailable
from windlass.model.ids import attempt_id
from windlass.model.pods import PodReason, PodSighting, PodStatus, read_ref
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.ports.pods import Detached, PodWork

log = logging.getLogger(__name__)

_AT_ONCE = 8
_SOON_S = 0.2
"""What comes within this time is looked at together."""


class PodSync:
    """The launcher's own look at its pods, in turns and whenever something may be amiss."""

    def __init__(
        self,
        work: PodWork,
        api: PodApi,
        launcher: PodLauncher,
        *,
        every_s: float,
        deadlines: Deadlines,
        secrets: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._work = work
        self._api = api
        self._launcher = launcher
        self._every_s = every_s
        self._deadlines = deadlines
        self._secrets = secrets
        self._now = now
        self._wake = asyncio.Event()
        self._said: dict[str, tuple[PodStatus, PodReason, float]] = {}
        """By uid: what was said last."""
        self._leaving: dict[str, Pod] = {}
        """By uid: pods that were to go when they were seen last."""
        self._owning: set[str] = set()
        """Uids of pods that own their Secrets."""
        self._ended: set[str] = set()
        """Attempts that ended since the last look began."""
        self._doing: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._events = PodEvents(work, api)

    async def close(self) -> None:
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)
        await self._api.close()

    def wake(self) -> None:
        self._wake.set()

    async def pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._every_s):
                await self._wake.wait()
            await asyncio.sleep(_SOON_S)

    def ended(self, attempt: str, external_ref: str) -> None:
        """An attempt that was a pod has ended: keep the log, and let the pod go."""
        self._ended.add(attempt)
        self._launcher.ended(attempt)
        ref = read_ref(external_ref)
        if ref.uid:
            self._begin(self._let_go(attempt, ref.pod, ref.uid))
        elif self._secrets:
            # There may be a Secret for a pod that was never made.
            self._begin(self._api.drop_secret(ref.pod))

    async def run_once(self) -> int:
        """Look at everything once."""
        self._wake.clear()
        self._ended.clear()
        live = await self._work.detached()
        pods = await self._launcher.all_pods()
        self._launcher.are_out({found.attempt_id for found in live} - self._ended)
        there = {_ref(pod): pod for pod in pods}
        waits: dict[str, Waiting] = {}
        await self._each(self._look(found, there.pop(found.pod, None), waits) for found in live)
        await self._work.waits_for({attempt: found.reason for attempt, found in waits.items()})
        now, there_are = self._now(), {id_: one for id_, one in waits.items() if one.uid}
        for attempt in self._events.due(there_are, now):
            # Beside the look: what Kubernetes has to tell of one pod holds up no other.
            self._begin(self._events.ask(attempt, there_are[attempt], now))
        await self._sweep(list(there.values()))
        uids = {pod.metadata.uid for pod in pods}
        self._said = {uid: said for uid, said in self._said.items() if uid in uids}
        self._leaving = {uid: pod for uid, pod in self._leaving.items() if uid in uids}
        self._owning &= uids
        return 0

    async def _each(self, doing: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Do all, some at a time; one that fails holds up no other."""
        results = await asyncio.gather(*map(self._in_turn, doing), return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                log.warning("a pod is looked at again: %r", result)

    async def _in_turn(self, doing: Coroutine[Any, Any, None]) -> None:
        async with self._room:
            await doing

    async def _look(self, found: Detached, pod: Pod | None, waits: dict[str, Waiting]) -> None:
        if pod is not None and found.uid and pod.metadata.uid != found.uid:
            pod = None  # another one of that name, which nobody here has made
        if pod is None:
            await self._missing(found, waits)
            return
        uid = pod.metadata.uid
        if not found.uid and not await self._work.detach(found.attempt_id, found.pod, uid):
            return
        if pod.metadata.deletion_timestamp is not None:
            self._leaving[uid] = pod
        elif found.stopping:
            await self._api.delete(found.pod, uid)
        seen = observe(pod, self._now(), self._deadlines)
        if seen is not None:
            await self._say(found, uid, seen, pod.spec.node_name)
        elif not found.running:
            waits[found.attempt_id] = Waiting(found.pod, uid, waiting_for(pod))
        if HAS_CREDENTIAL in pod.metadata.labels and uid not in self._owning:
            await self._own(found.pod, uid)

    async def _own(self, pod: str, uid: str) -> None:
        """Have a pod's Secret go with it, whoever made them: twice is as good as once."""
        try:
            await self._api.own_secret(pod, uid)
        except KubeRefused as error:
            log.warning("the Secret of pod %s may outlive it: %s", pod, error)
        self._owning.add(uid)

    async def _say(self, found: Detached, uid: str, seen: Observation, node: str) -> None:
        said = (seen.status, seen.reason, seen.at)
        if self._said.get(uid) == said:
            return
        await self._work.observe(found.attempt_id, sighting(found.pod, uid, seen, node))
        self._said[uid] = said

    async def _missing(self, found: Detached, waits: dict[str, Waiting]) -> None:
        """An attempt without a pod: one that was never made, or one that is gone."""
        if not found.uid:
            if found.stopping:
                await self._work.observe(found.attempt_id, _gone(found, PodReason.DELETED))
                return
            trouble = await self._launcher.make(found.attempt_id, detach=False)
            code = ReasonCode.POD_UNMADE if trouble else ReasonCode.POD_MADE
            why = Reason(code, ReasonValues(message=trouble or ""))
            waits[found.attempt_id] = Waiting(found.pod, "", why)
            return
        last = self._leaving.get(found.uid)
        if last is not None:
            seen = gone(last, self._now())
            await self._say(found, found.uid, seen, last.spec.node_name)
        else:
            reason = PodReason.DELETED if found.stopping else PodReason.NODE_LOST
            await self._work.observe(found.attempt_id, _gone(found, reason))

    async def _sweep(self, pods: list[Pod]) -> None:
        """Let go of pods whose attempts have ended. Those that began since we asked are asked about
        again: only what has ended for certain is deleted."""
        attempts = {pod.metadata.uid: _attempt(pod) for pod in pods}
        live = await self._work.live(sorted(set(attempts.values()))) if attempts else ()
        for pod in pods:
            uid = pod.metadata.uid
            if attempts[uid] not in live and pod.metadata.deletion_timestamp is None:
                self._begin(self._let_go(attempts[uid], _ref(pod), uid))

    def _begin(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(self._each([doing]))
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    async def _let_go(self, attempt: str, pod: str, uid: str) -> None:
        text = await self._api.log(pod)
        if text:
            await self._work.keep_log(attempt, text)
        with contextlib.suppress(Unavailable):
            await self._events.last(attempt, pod, uid, self._now())
        if self._secrets:
            await self._api.drop_secret(pod)
        await self._api.delete(pod, uid)


def sighting(pod: str, uid: str, seen: Observation, node: str = "") -> PodSighting:
    return PodSighting(
        status=seen.status,
        reason=seen.reason,
        pod=pod,
        uid=uid,
        message=seen.message,
        exit_code=seen.exit_code,
        terminated_reason=seen.terminated_reason or "",
        node=node,
    )


def waiting_for(pod: Pod) -> Reason:
    """What a pod that has not begun waits for, in Kubernetes' words."""
    scheduled = pod.condition("PodScheduled")
    place = pod.spec.node_name
    if not place:
        said = scheduled.message or scheduled.reason if scheduled is not None else ""
        return Reason(ReasonCode.POD_UNSCHEDULED, ReasonValues(message=said))
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = container.state.waiting
        if waiting is not None and waiting.reason:
            values = ReasonValues(place=place, cause=waiting.reason, message=waiting.message)
            return Reason(ReasonCode.POD_CONTAINER, values)
    return Reason(ReasonCode.POD_STARTING, ReasonValues(place=place))


def _gone(found: Detached, reason: PodReason) -> PodSighting:
    status = PodStatus.CANCELED if reason is PodReason.DELETED else PodStatus.FAILED
    text = "it was deleted" if reason is PodReason.DELETED else "it is gone, and nobody saw why"
    return PodSighting(status=status, reason=reason, pod=found.pod, uid=found.uid, message=text)


def _ref(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _attempt(pod: Pod) -> str:
    return attempt_id(task_of(pod), attempt_of(pod) or 0)
