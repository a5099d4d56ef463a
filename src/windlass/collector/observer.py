"""From what the watch says to what the spool holds: each pod's state, looked at when it changes.

A pod in memory is its uid, the last status and the last event's id; the rest is in the spool. Pods
that wait for a deadline are looked at again when it passes.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import msgspec

from windlass.collector.metrics import CollectorMetrics
from windlass.collector.spool import Batch, Spool, SpooledEvent
from windlass.collector.watch import Change
from windlass.kube.api import KubeApi, KubeRefused
from windlass.kube.facts import envelope, event_id
from windlass.kube.interpret import (
    Deadlines,
    Observation,
    gone,
    look_again_at,
    observe,
)
from windlass.kube.pods import Pod, PodState
from windlass.protocol.pod_facts import TASK_ID, TENANT_ID, WORKFLOW_ID, PodStatus

log = logging.getLogger(__name__)

_FULL_S = 0.2
_OVERDUE_MAX = 100
"""Looked at in one round: a cluster without room may hold thousands that wait."""


@dataclass(slots=True)
class _Known:
    said: str = ""
    event_id: str = ""
    look_at: float | None = None

    @property
    def ended(self) -> bool:
        return self.said not in ("", PodStatus.RUNNING)


class Observer:
    """Told by the watch, writes to the spool."""

    def __init__(
        self,
        api: KubeApi,
        spool: Spool,
        deadlines: Deadlines,
        metrics: CollectorMetrics,
        written: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._spool = spool
        self._deadlines = deadlines
        self._metrics = metrics
        self._written = written
        self._now = now
        self._encode = msgspec.json.Encoder().encode
        self._pods = msgspec.json.Decoder(Pod)
        self._known = {uid: _Known(said, last) for uid, said, last in spool.known()}
        self._seen: set[str] = set()
        self.synced = False
        """Everything was listed at least once."""

    def list_began(self) -> None:
        self._seen = set()

    async def listed(self, pods: Sequence[Pod]) -> None:
        await self._room()
        self._seen.update(pod.metadata.uid for pod in pods)
        batch = Batch()
        for pod in pods:
            self._look(pod, batch)
        self._write(batch)

    async def list_ended(self) -> None:
        missing = [uid for uid in self._known if uid not in self._seen]
        batch = Batch()
        for uid, body in self._spool.pods(missing):
            await self._gone(self._pods.decode(body), batch)
            self._write(batch)
            batch = Batch()
            del self._known[uid]
        self._seen = set()
        self.synced = True

    async def changed(self, changes: Sequence[Change]) -> None:
        await self._room()
        batch = Batch()
        try:
            for kind, pod in changes:
                if kind == "DELETED":
                    await self._gone(pod, batch)
                else:
                    self._look(pod, batch)
        finally:
            # Also where a question about a pod failed: what was looked at counts as known.
            self._write(batch)
            for uid in batch.gone:
                self._known.pop(uid, None)

    def unreadable(self) -> None:
        self._metrics.failed("")

    async def look_at_overdue(self) -> int:
        """Say what time alone has made true; how many pods were looked at.

        Each is asked for first: what the watch said last may be old news by now.
        """
        now = self._now()
        due = [
            uid
            for uid, known in self._known.items()
            if known.look_at is not None and known.look_at <= now
        ]
        batch = Batch()
        try:
            for uid, body in self._spool.pods(due[:_OVERDUE_MAX]):
                pod = await self._fresh(self._pods.decode(body))
                known = self._known.get(uid)
                if known is None:
                    continue  # it went while we asked
                if pod is None:
                    known.look_at = None  # it is gone; the watch or the next list will say so
                else:
                    self._look(pod, batch, now)
        finally:
            self._write(batch)
        return len(due)

    def _look(self, pod: Pod, batch: Batch, clock: float = 0.0) -> None:
        """Say what is new about a pod; without a clock no deadline of its has passed."""
        uid = pod.metadata.uid
        if not _is_ours(pod):
            log.debug("pod %s has no task or no workflow in its labels", pod.metadata.name)
            return
        known = self._known.get(uid)
        is_new = known is None
        if known is None:
            known = self._known[uid] = _Known()
        seen = observe(pod, clock, self._deadlines)
        told = seen is not None and self._tell(pod, seen, known, batch)
        known.look_at = None if known.ended else look_again_at(pod, self._deadlines)
        # Whatever may be asked of the spool later has to be there: how a pod that waits or leaves
        # was seen last, and who anybody is that might be missing from the next list.
        if is_new or told or known.look_at is not None:
            batch.pods[uid] = (self._encode(pod), known.said)

    def _tell(self, pod: Pod, seen: Observation, known: _Known, batch: Batch) -> bool:
        tenant = pod.metadata.labels.get(TENANT_ID, "")
        self._metrics.observed(tenant)
        identity = event_id(pod, seen)
        if identity == known.event_id:
            self._metrics.deduplicated(tenant)
            return False
        known.event_id, known.said = identity, seen.status
        body = self._encode(envelope(pod, seen, identity, self._now()))
        batch.events.append(SpooledEvent(identity, pod.metadata.uid, tenant, seen.at, body))
        return True

    async def _gone(self, pod: Pod, batch: Batch) -> None:
        """A pod that was seen and is there no more; what it did not say itself is said for it."""
        uid = pod.metadata.uid
        if not _is_ours(pod):
            return
        known = self._known.get(uid) or _Known()
        if not known.ended:
            if pod.metadata.deletion_timestamp is None and await self._still_there(pod):
                log.info("pod %s is no longer marked as a workload", pod.metadata.name)
            else:
                self._tell(pod, gone(pod, self._now()), known, batch)
        batch.gone.append(uid)

    async def _still_there(self, pod: Pod) -> bool:
        """Whether it only left the selection: for a watch that looks like a deletion."""
        return await self._fresh(pod) is not None

    async def _fresh(self, pod: Pod) -> Pod | None:
        """The pod as it is now; nothing if it is gone, or another has its name."""
        where = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
        try:
            raw = await self._api.call("GET", where)
        except KubeRefused as error:
            if error.code == 404:
                return None
            raise
        try:
            found = self._pods.decode(raw)
        except msgspec.MsgspecError:
            self.unreadable()
            return msgspec.structs.replace(pod, status=PodState())  # it is there and says nothing
        return found if found.metadata.uid == pod.metadata.uid else None

    async def _room(self) -> None:
        """Wait while the spool is full: the API server keeps what is not read, and lists it."""
        if not self._spool.is_full():
            return
        log.error("the spool is full: no pods are looked at until something is published")
        while self._spool.is_full():  # noqa: ASYNC110  the spool knows nobody who waits
            await anyio.sleep(_FULL_S)
        log.warning("the spool has room again")

    def _write(self, batch: Batch) -> None:
        if not batch:
            return
        added = self._spool.write(batch)
        if len(added) < len(batch.events):
            new = {event.id for event in added}
            for event in batch.events:
                if event.id not in new:
                    self._metrics.deduplicated(event.tenant)
        if added:
            self._written()


def _is_ours(pod: Pod) -> bool:
    labels = pod.metadata.labels
    return bool(pod.metadata.uid and labels.get(TASK_ID) and labels.get(WORKFLOW_ID))
