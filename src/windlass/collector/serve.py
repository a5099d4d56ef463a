"""A collector process: settings in, pods watched and told about until a signal.

Three loops share the spool: the watch fills it, the publisher empties it, and a clock looks at pods
whose deadline has passed. Without a node there may be several instances, and a Lease says which
of them works.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import uvloop

from windlass.client.pages import pages_served
from windlass.collector.election import Election
from windlass.collector.metrics import CollectorMetrics
from windlass.collector.observer import Observer
from windlass.collector.report import Publisher, Sink
from windlass.collector.spool import PENDING_MAX, Spool
from windlass.collector.watch import PodWatch, WatchSettings
from windlass.kube.access import KubeAccess
from windlass.kube.api import KubeApi, KubeRefused
from windlass.kube.interpret import Deadlines
from windlass.model.errors import Unavailable

log = logging.getLogger(__name__)

LEASE = "windlass-collector"
_CLOCK_S = 1.0
_LAST_WORDS_S = 5.0


@dataclass(frozen=True, slots=True)
class CollectorSettings:
    access: KubeAccess
    spool: Path
    namespace: str = ""
    node: str = ""
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    deadlines: Deadlines = field(default_factory=Deadlines)
    watch: WatchSettings = field(default_factory=WatchSettings)
    pending_max: int = PENDING_MAX


class Collector:
    """Everything of one process, put together."""

    def __init__(self, settings: CollectorSettings, sink: Sink) -> None:
        self._settings = settings
        self._sink = sink
        self.metrics = CollectorMetrics()
        self.spool = Spool(settings.spool, settings.pending_max)
        self.api = KubeApi(settings.access)
        self.publisher = Publisher(self.spool, sink, self.metrics)
        self.observer = Observer(
            self.api, self.spool, settings.deadlines, self.metrics, self.publisher.wake
        )
        self.watch = PodWatch(self.api, settings.watch, self.observer)
        self._election: Election | None = None
        if not settings.node:
            name = f"{LEASE}-{settings.namespace}" if settings.namespace else LEASE
            identity = f"{socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}"
            self._election = Election(self.api, settings.access.namespace, name, identity)

    async def run(self) -> None:
        """Work until cancelled; what is written down by then has a moment to be published."""
        settings = self._settings
        pages = {"/metrics": self._metrics, "/healthz": self._health, "/readyz": self._readiness}
        try:
            async with pages_served(settings.metrics_host, settings.metrics_port, pages):
                if self._election is None:
                    await self._work()
                else:
                    await self._election.run(self._work)
        finally:
            with anyio.CancelScope(shield=True):
                await self._close()

    async def _work(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self.publisher.run)
            group.start_soon(self._clock)
            await self.watch.run()

    async def _clock(self) -> None:
        while True:
            await anyio.sleep(_CLOCK_S)
            if self.spool.is_full():
                continue
            try:
                await self.observer.look_at_overdue()
            except (KubeRefused, Unavailable) as error:
                log.info("pods that are overdue wait for another look: %s", error)

    async def _close(self) -> None:
        with anyio.move_on_after(_LAST_WORDS_S), contextlib.suppress(Unavailable):
            while not self.publisher.trouble and await self.publisher.run_once():
                pass
        await self._sink.close()
        await self.api.close()
        self.spool.close()

    @property
    def _leads(self) -> bool:
        return self._election is None or self._election.leads

    def _metrics(self) -> tuple[int, str]:
        gauges = {
            "leads": int(self._leads),
            "synced": int(self.observer.synced),
            "lists": self.watch.lists,
            "watch_failures": self.watch.failures,
        }
        return 200, self.metrics.text(self.spool.pending_of, gauges)

    def _health(self) -> tuple[int, str]:
        return 200, "ok\n"  # a loop that ends takes the process with it

    def _readiness(self) -> tuple[int, str]:
        if not self._leads:
            return 200, "standing by: another instance watches\n"
        if self.spool.is_full():
            return 503, f"the spool is full: {self.publisher.trouble or 'it drains'}\n"
        if not self.observer.synced:
            return 503, "the pods were not listed yet\n"
        return 200, f"ready, {self.spool.pending} to publish {self.publisher.trouble}\n"


def serve(settings: CollectorSettings, sink: Callable[[], Sink]) -> None:
    """Run until a signal."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_until_signal(settings, sink))
        except BaseExceptionGroup as group:
            raise _only(group) from group


async def _until_signal(settings: CollectorSettings, sink: Callable[[], Sink]) -> None:
    sink_ = sink()
    collector = Collector(settings, sink_)
    where = f"node {settings.node}" if settings.node else "the cluster"
    log.info("collecting from %s at %s for %s", where, settings.access.url, sink_)
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_on_signal, group.cancel_scope)
        await collector.run()


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("stopping after %s", signal.Signals(number).name)
            scope.cancel()
            return


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong, without the task groups it came through."""
    while len(group.exceptions) == 1:
        match group.exceptions[0]:
            case BaseExceptionGroup() as inner:
                group = inner
            case found:
                return found
    return group
