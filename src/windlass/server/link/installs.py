"""Installs: a package that waiting tasks need and no worker has is sent to a suitable worker."""

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from windlass.engine import packages, workers
from windlass.engine.installing import Installing
from windlass.model.errors import Unavailable
from windlass.model.queues import is_link, owner_of, package_of, tenant_of
from windlass.model.tenants import ALL
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import NAMES, Generation

if TYPE_CHECKING:
    from windlass.server.link.plane import LinkPlane
    from windlass.server.link.session import LinkSession

log = logging.getLogger(__name__)

PAUSE_S = 0.5
"""Between two looks that queued tasks gave rise to."""
FORGET_S = 3600.0
"""An installation nobody has told the end of by then is not counted."""
_NOTED_MAX = 100
_ANSWER_CHARS_MAX = 500
RETRY_S = 60.0
"""How long a worker that was sent a package, or failed to install it, is not asked again."""


class Wanted(NamedTuple):
    """A package that tasks of a tenant wait for, of any worker or of one."""

    package: str
    owner: str
    tenant: str


class Installs:
    """Which packages were sent where, and what became of it."""

    def __init__(self, plane: "LinkPlane") -> None:
        self._plane = plane
        self._asked: dict[tuple[str, str], float] = {}
        self._looking = asyncio.Lock()
        self._looked_at = -PAUSE_S
        self._pending: set[asyncio.Task[None]] = set()

    def unserved(self, queues: set[str]) -> None:
        """Tasks were queued that nobody here waits for; see whether a package is missing."""
        wanted = {package_of(queue) for queue in queues if is_link(queue)}
        # Workers that have it may only be busy, and that is no reason to look.
        if any(not self._has(package) for package in wanted):
            self.look_soon()

    def _has(self, package: str) -> bool:
        return any(package in session.profile.packages for session in self._plane.live)

    def look_soon(self) -> None:
        if not self._pending:
            task = asyncio.ensure_future(self._look_soon())
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)

    async def _look_soon(self) -> None:
        await asyncio.sleep(max(0.0, self._looked_at + PAUSE_S - self._plane.clock()))
        try:
            await self.look()
        except Unavailable as error:
            log.info("missing packages are looked for later: %s", error)

    async def look(self) -> None:
        """Have every package installed that tasks wait for and no live worker has, or not the one
        they belong to."""
        async with self._looking:
            self._looked_at = now = self._plane.clock()
            self._asked = {key: at for key, at in self._asked.items() if now - at < FORGET_S}
            names = await self._plane.engine.store.query("queue_names")
            wanted: set[Wanted] = set()
            for row in names:
                queue: str = row["queue"]
                self._plane.engine.handlers.learn_queue(queue)
                if is_link(queue):
                    wanted.add(Wanted(package_of(queue), owner_of(queue) or "", tenant_of(queue)))
            if not wanted:
                return
            there: dict[str, set[str]] = {}
            anywhere: set[tuple[str, str]] = set()
            for worker in await workers.live_workers(self._plane.engine, transport="link"):
                if not self._plane.is_cut_off(worker):
                    there[worker.id] = set(workers.services_of(worker))
                    anywhere |= {(worker.tenant, package) for package in there[worker.id]}
            for some in sorted(wanted):
                if some.owner:
                    there_is = some.package in there.get(some.owner, set())
                else:
                    there_is = not anywhere.isdisjoint(
                        {(some.tenant, some.package), (ALL, some.package)}
                    )
                if not there_is:
                    await self._install(some)

    async def _install(self, wanted: Wanted) -> None:
        name, _, version = wanted.package.rpartition("@")
        found = await packages.find_version(self._plane.engine.of(wanted.tenant), name, version)
        if found is None or found.status == "yanked":
            return
        session = self._choose(wanted)
        if session is not None:
            session.send(self.order(session, name, version, found.sha256))

    def _choose(self, wanted: Wanted) -> "LinkSession | None":
        """The least busy worker (or the owner) that installs packages and was not asked lately."""
        now = self._plane.clock()
        able = [
            session
            for session in self._plane.live
            if wanted.owner in ("", session.worker_id)
            and session.tenant in (ALL, wanted.tenant)
            and session.profile.healthy
            and not session.draining
            and installs_packages(session)
            and now - self._asked.get((wanted.package, session.worker_id), -RETRY_S) >= RETRY_S
        ]
        return min(able, key=lambda session: session.busy, default=None)

    def order(
        self, session: "LinkSession", name: str, version: str, sha256: str, url: str = ""
    ) -> m.PkgInstall:
        """What tells a worker to install a version, from our repository unless a URL says
        otherwise."""
        package, engine = f"{name}@{version}", self._plane.engine
        self._asked[package, session.worker_id] = self._plane.clock()
        if len(session.installs) >= _NOTED_MAX:
            session.installs.clear()
        session.installs[package] = Installing(engine.store.now())
        session.spawn(session.reports.quietly(self._plane.noting.note(session)))
        path = f"/api/v1/published-packages/{quote(name, safe='')}/archive"
        log.info("worker %s is to install %s %s", session.worker_id, name, version)
        return m.PkgInstall(
            name=name,
            version=version,
            url=url or f"{session.base_url}{self._plane.sign(path, version=version)}",
            sha256=sha256 or None,
        )

    def reported(self, session: "LinkSession", event: m.PkgEvent) -> None:
        """A worker says how an installation or removal went."""
        removed = (event.details or {}).get("operation") == "uninstall"
        op = "uninstall" if removed else "install"
        status = "installed" if event.status == "installed" else "failed"
        self._plane.counts.packages[op, status] += 1
        package = f"{event.name}@{event.version}"
        asked_at = self._asked.get((package, session.worker_id))
        if asked_at is not None and not removed:
            self._plane.counts.install_ms.add((self._plane.clock() - asked_at) * 1000)
        if event.status != "installed":
            known = session.installs.get(package)
            if known is not None:
                session.installs[package] = replace(known, error=answer_of(event))
            log.warning("worker %s: %s of %s failed", session.worker_id, op, package)
        register = session.profile.register
        if removed and event.status != "installed":
            kept = register.packages  # it is still there
        else:
            kept = [
                p for p in register.packages if (p.name, p.version) != (event.name, event.version)
            ]
        if not removed:
            field = m.PackageField(name=event.name, version=event.version, status=event.status)
            kept.append(field)
        session.registered(replace(register, packages=kept))
        for tell in self._plane.on_package:
            tell(session, event)


def installs_packages(session: "LinkSession") -> bool:
    """Whether a worker takes packages: it says so as a feature or among the frames it knows. The
    first generation's wire has the frame and no way to say so."""
    if session.link.generation is Generation.FIRST or "pkg.install" in session.link.features:
        return True
    return NAMES[m.PkgInstall].second in (session.profile.register.payload_types or ())


def answer_of(event: m.PkgEvent) -> str:
    """What a worker said of an installation that failed."""
    details = event.details or {}
    said = details.get("message") or details.get("error") or details or "it did not say why"
    text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
    return text[:_ANSWER_CHARS_MAX]
