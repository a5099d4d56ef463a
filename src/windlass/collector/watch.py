"""The watch loop: list, then watch from that version; list again where the thread was lost.

What it may rely on is what `tests/conformance/test_kube_pods.py` shows of both API servers:
a list has a version, a watch from it tells every later change in order, and whoever comes too
late is told 410 and lists again. Bookmarks help and are not needed. A watch ends whenever the
server likes; its last version is where the next one begins.
"""

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
import msgspec

from windlass.client.backoff import Backoff
from windlass.collector.gathered import GatheredLines
from windlass.kube.api import KubeApi, KubeRefused, KubeStatus
from windlass.kube.pods import Pod, PodList
from windlass.model.errors import Unavailable
from windlass.protocol.pod_facts import WORKLOAD

log = logging.getLogger(__name__)

PAGE = 500
_SLACK_S = 15.0
_GATHER_S = 0.05
"""What comes within this time is written in one commit; one for each change costs the most."""
_QUICK_S = 1.0
"""A watch that ends sooner than this and said nothing is asked for again after a pause."""


@dataclass(frozen=True, slots=True)
class WatchSettings:
    namespace: str = ""
    """Which one; all of them without."""
    node: str = ""
    watch_s: float = 120.0
    """How long one watch lasts, about: the server ends it and the next one goes on."""
    resync_s: float = 600.0
    """How often everything is listed again, whatever the watch has said."""
    pause_most_s: float = 5.0


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


Change = tuple[str, Pod]
"""ADDED, MODIFIED or DELETED, and the pod."""


class Watcher(Protocol):
    """Who is told; what it raises, the loop takes for a broken watch."""

    async def listed(self, pods: Sequence[Pod]) -> None: ...

    async def list_ended(self) -> None:
        """Every pod there is was in one of the pages since the list began."""
        ...

    def list_began(self) -> None: ...

    async def changed(self, changes: Sequence[Change]) -> None: ...

    def unreadable(self) -> None:
        """A pod came that nobody can read; it was left out."""
        ...


class PodWatch:
    """Tells a watcher about the pods of one node, a namespace or the cluster."""

    def __init__(self, api: KubeApi, settings: WatchSettings, watcher: Watcher) -> None:
        self._api = api
        self._settings = settings
        self._watcher = watcher
        within = f"/namespaces/{settings.namespace}" if settings.namespace else ""
        self._path = f"/api/v1{within}/pods"
        self._selected = {"labelSelector": f"{WORKLOAD}=true"}
        if settings.node:
            self._selected["fieldSelector"] = f"spec.nodeName={settings.node}"
        self._version = ""
        self._list_again_at = 0.0
        self._lines = msgspec.json.Decoder(_Line)
        self._pods = msgspec.json.Decoder(Pod)
        self.lists = 0
        self.failures = 0

    async def run(self) -> None:
        """List and watch until cancelled."""
        backoff = Backoff(first_s=0.1, most_s=self._settings.pause_most_s)
        while True:
            began = time.monotonic()
            try:
                heard = await self.run_once()
            except (KubeRefused, Unavailable) as error:
                await anyio.sleep(self._after(error, backoff))
                continue
            if heard or time.monotonic() - began > _QUICK_S:
                backoff.reset()
            else:
                await anyio.sleep(backoff.pause_s())

    async def run_once(self) -> int:
        """One list, if it is time for one, or one watch; how much was said."""
        if not self._version or time.monotonic() >= self._list_again_at:
            return await self._list()
        return await self._watch()

    def _after(self, error: KubeRefused | Unavailable, backoff: Backoff) -> float:
        """How long to wait after a failure, and where to begin then."""
        self.failures += 1
        pause = backoff.pause_s()
        if isinstance(error, Unavailable):
            log.info("%s; going on from version %s", error, self._version or "none")
            return pause
        if error.expired:
            log.info("the watch came too late and begins anew with a list")
            self._version = ""
            return pause
        if error.code in (401, 403):
            hint = "the service account needs get, list and watch of pods"
            log.error("%s; %s", error, hint)
        else:
            log.warning("%s", error)
        return max(pause, error.retry_after_s or 0)

    async def _list(self) -> int:
        """Everything there is, page by page: ten thousand pods at once would fill the memory."""
        count, query = 0, {**self._selected, "limit": str(PAGE)}
        self._watcher.list_began()
        while True:
            page = _page(await self._api.call("GET", self._path, query))
            count += len(page.items)
            await self._watcher.listed([pod for raw in page.items if (pod := self._pod(raw))])
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        await self._watcher.list_ended()
        self.lists += 1
        self._version = page.metadata.resource_version
        resync = self._settings.resync_s * random.uniform(0.9, 1.1)
        self._list_again_at = time.monotonic() + resync
        return count + 1

    async def _watch(self) -> int:
        left = max(1.0, self._list_again_at - time.monotonic())
        lasts_s = min(left, self._settings.watch_s * random.uniform(0.8, 1.2))
        query = {
            **self._selected,
            "watch": "1",
            "resourceVersion": self._version,
            "timeoutSeconds": str(max(1, round(lasts_s))),
            "allowWatchBookmarks": "true",
        }
        # The reader runs beside us, so that what comes while we write is written together.
        source = self._api.lines(self._path, query, lasts_s + _SLACK_S)
        lines, failure, count = GatheredLines(source), None, 0
        async with anyio.create_task_group() as group:
            group.start_soon(lines.read)
            try:
                while taken := await lines.take():
                    await self._take(taken)
                    count += len(taken)
                    await anyio.sleep(_GATHER_S)
            except (KubeRefused, Unavailable) as error:
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return count

    async def _take(self, lines: Sequence[bytes]) -> None:
        told = [change for line in lines if line and (change := self._read(line))]
        changes = [change for change in told if change[0] != "BOOKMARK"]
        if changes:
            await self._watcher.changed(changes)
        if told:
            # Only now: what was not taken is asked for again.
            self._version = told[-1][1].metadata.resource_version

    def _read(self, raw: bytes) -> Change | None:
        try:
            line = self._lines.decode(raw)
        except msgspec.MsgspecError as error:
            raise Unavailable(f"the watch says what is no event: {error}") from error
        if line.type == "ERROR":
            raise _refused(line.object)
        pod = self._pod(line.object)
        return None if pod is None else (line.type, pod)

    def _pod(self, raw: msgspec.Raw) -> Pod | None:
        """One pod; what cannot be read is left out, and holds up nothing else."""
        try:
            return self._pods.decode(raw)
        except msgspec.MsgspecError as error:
            log.warning("a pod cannot be read: %s", error)
            self._watcher.unreadable()
            return None


def _page(raw: bytes) -> PodList:
    try:
        return msgspec.json.decode(raw, type=PodList)
    except msgspec.MsgspecError as error:
        raise Unavailable(f"a list of pods cannot be read: {error}") from error


def _refused(raw: msgspec.Raw) -> KubeRefused:
    try:
        status = msgspec.json.decode(raw, type=KubeStatus)
    except msgspec.MsgspecError:
        status = KubeStatus(reason="an error nobody can read")
    after = status.details.retry_after_seconds if status.details else None
    return KubeRefused(status.code, status.message or status.reason, after)
