"""Has runtimes do what the kernel decided: make places, hold them, have them gone.

Each is an effect of the commit that decided it, done under a lease by a process that reaches the
runtime. A place's name follows from its session, so an effect that is done twice does no harm; and
a place that nobody wants, whatever was cut off when, is found by the sweep.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.envs.hosts import Hosts
from windlass.engine.loops.outbox import Handler, NotHere, Outbox
from windlass.kernel.events import EnvAllocated, EnvRefused, EnvReleased, EnvSeen
from windlass.model.effects import Effect
from windlass.model.env_drift import drift_of
from windlass.model.envs import (
    ALLOCATE,
    FIRST,
    HOLD,
    RELEASE,
    EnvResource,
    EnvSession,
    EnvSnapshot,
    EnvState,
    place_name,
)
from windlass.model.errors import NotFound, Unavailable
from windlass.model.rows import Task
from windlass.model.states import TASK_ENDED
from windlass.ports.env import (
    EnvBackend,
    PlaceError,
    PlaceGone,
    PlaceSpec,
    RuntimeAway,
    Snapshot,
)
from windlass.ports.store import Cond

log = logging.getLogger(__name__)

_ALLOCATE_S = 1_800.0
"""How long a place may take to be made; images come from far away."""
_LEASE_S = 9.0
"""How soon another takes over what a process was at that died; it is renewed while one works."""
_AT_ONCE = 200
_TRIES_MAX = 1_000_000
_PAUSE_S_MAX = 30.0
_HOLD_TRIES = 8
"""How often a runtime is asked to keep a place as it is: for a minute and a half."""

OWNER, SESSION = "owner", "session"
"""Labels of places: whose they are, where several share a runtime, and which session's."""


class EnvOutbox(Outbox):
    """The effects of environments: slow ones go on side by side, and none is ever given up."""

    def __init__(
        self,
        engine: Engine,
        handlers: Mapping[str, Handler],
        addresses: Callable[[], Iterable[str]],
    ) -> None:
        super().__init__(
            engine,
            handlers,
            addresses,
            anybodys=False,
            lease_s=_LEASE_S,
            patience_s=_ALLOCATE_S,
            at_once=_AT_ONCE,
            tries_max=_TRIES_MAX,
            pause_s_max=_PAUSE_S_MAX,
        )


class Follower:
    """Does the effects of environments for the hosts that are reached from here."""

    def __init__(self, engine: Engine, hosts: Hosts) -> None:
        self._engine = engine
        self._hosts = hosts
        self._owner = ""

    @property
    def handlers(self) -> dict[str, Handler]:
        return {ALLOCATE: self.allocate, HOLD: self.hold, RELEASE: self.release}

    async def allocate(self, effect: Effect) -> None:
        session = await self._session(effect)
        if session is None or session.state is not EnvState.RESERVED:
            return
        picked = self._hosts.pick(session.kind)
        if picked is None:
            raise NotHere(self._hosts.missing(session.kind))
        host, backend = picked
        try:
            place = await backend.allocate(await self.spec_of(session))
            along = [await self.snapshot(backend, session, FIRST)]
        except PlaceError as error:
            await self._engine.submit(EnvRefused(session.id, str(error)))
            return
        except (RuntimeAway, PlaceGone) as error:
            raise NotHere(str(error)) from error
        details = msgspec.json.encode(place.details).decode()
        wanted = await self._engine.submit(EnvAllocated(session.id, host, details), *along)
        if not wanted:
            await backend.release(place.name)

    async def hold(self, effect: Effect) -> None:
        """Nobody is in it until the answer comes; what it holds is kept in case it is lost."""
        session = await self._session(effect)
        if session is None or session.state is not EnvState.HELD:
            return
        backend = self._backend(session)
        try:
            await backend.still(place_name(session.id), session.epoch + 1)
            taken = await self.snapshot(backend, session, "checkpoint")
        except RuntimeAway as error:
            raise NotHere(str(error)) from error
        except (PlaceGone, PlaceError) as error:
            if isinstance(error, PlaceError) and effect.tries < _HOLD_TRIES:
                raise  # A runtime may refuse because it is busy: it is asked again.
            log.warning("session %s cannot be kept as it is: %s", session.id, error)
            return
        await self._engine.write(taken)

    async def release(self, effect: Effect) -> None:
        session = await self._session(effect)
        if session is None or session.state not in (EnvState.RELEASING, EnvState.KEPT):
            return
        backends = [self._backend(session)] if session.host else self._of_kind(session.kind)
        along: list[EnvSnapshot] = []
        try:
            for backend in backends:
                if session.bound:
                    along = await self._tell(session, await self._last_look(backend, session))
                await backend.release(place_name(session.id))
        except RuntimeAway as error:
            raise NotHere(str(error)) from error
        await self._engine.submit(EnvReleased(session.id), *along)

    async def _last_look(self, backend: EnvBackend, session: EnvSession) -> list[EnvSnapshot]:
        try:
            return [await self.snapshot(backend, session, "post_action")]
        except (PlaceGone, PlaceError) as error:
            log.info("session %s had no last look: %s", session.id, error)
            return []

    async def _tell(self, session: EnvSession, taken: list[EnvSnapshot]) -> list[EnvSnapshot]:
        """Let whoever judges what was done there know at once: they need not wait until it is gone.
        Returns what is not written down yet."""
        async with self._engine.store.session() as reading:
            found = await reading.rows(Task, [session.task_id])
        if not found or not found[0].claim or found[0].state in TASK_ENDED:
            return taken
        drift = drift_of([*await snapshots_of(self._engine, session), *taken])
        await self._engine.submit(EnvSeen(session.id, drift), *taken)
        return []

    # Parts

    async def _session(self, effect: Effect) -> EnvSession | None:
        wanted = msgspec.json.decode(effect.body, type=dict[str, str])["session"]
        return await find_session(self._engine, wanted)

    def _backend(self, session: EnvSession) -> EnvBackend:
        try:
            return self._hosts.get(session.host, session.kind)
        except Unavailable as error:
            raise NotHere(str(error)) from error

    def _of_kind(self, kind: str) -> list[EnvBackend]:
        """Every runtime a place may be in that was never heard of again."""
        return [backend for _, backend in self._hosts.all() if backend.kind == kind]

    async def owner(self) -> str:
        """What our places are labelled with: another installation's are left alone."""
        if not self._owner:
            secret = await self._engine.store.secret()
            self._owner = blake2b(secret.encode(), digest_size=6).hexdigest()
        return self._owner

    async def spec_of(self, session: EnvSession) -> PlaceSpec:
        async with self._engine.store.session() as reading:
            found = await reading.rows(EnvResource, [session.resource_id])
        if not found:
            raise PlaceError(f'its resource "{session.resource}" was deleted')
        return PlaceSpec(
            name=place_name(session.id),
            config=msgspec.json.decode(found[0].config),
            labels={
                OWNER: await self.owner(),
                SESSION: session.id,
                "tenant": session.tenant,
                "resource": session.resource,
                "run": session.run_id,
            },
        )

    async def snapshot(self, backend: EnvBackend, session: EnvSession, kind: str) -> EnvSnapshot:
        label = label_of(kind)
        taken = await backend.snapshot(place_name(session.id), label)
        row = snapshot_row(session, kind, taken, self._engine.store.now())
        return row if kind == FIRST else await self.with_files(backend, session, row, label)

    async def with_files(
        self, backend: EnvBackend, session: EnvSession, row: EnvSnapshot, label: str
    ) -> EnvSnapshot:
        """A snapshot with which files are others than when the place was made, as far as its
        runtime tells: a snapshot is worth as much without."""
        kept = await snapshots_of(self._engine, session, kind=FIRST)
        if not kept or kept[-1].digest == row.digest:
            return row
        try:
            changes = await backend.changes(place_name(session.id), label_of(FIRST), label)
        except (PlaceGone, PlaceError, RuntimeAway) as error:
            log.info("what changed in session %s is not told: %s", session.id, error)
            return row
        return replace(row, files=msgspec.json.encode(changes).decode())


async def find_session(engine: Engine, session_id: str) -> EnvSession | None:
    async with engine.store.session() as reading:
        found = await reading.rows(EnvSession, [session_id])
    return found[0] if found else None


async def get_session(engine: Engine, session_id: str) -> EnvSession:
    session = await find_session(engine, session_id)
    if session is None:
        raise NotFound(f'no session "{session_id:.200}"; see GET /api/v1/envs/sessions')
    return session


async def snapshots_of(engine: Engine, session: EnvSession, kind: str = "") -> list[EnvSnapshot]:
    """The oldest first."""
    where = [Cond("session_id", "=", session.id)]
    if kind:
        where.append(Cond("kind", "=", kind))
    return await engine.store.page(EnvSnapshot, where, order="created_at", limit=200)


def label_of(kind: str) -> str:
    """What a runtime calls the snapshot of a kind, of which each place has one."""
    return kind.replace("_", "-")


def snapshot_row(session: EnvSession, kind: str, taken: Snapshot, now: int) -> EnvSnapshot:
    number = f"{session.epoch}-{now}" if kind == "manual" else f"{session.epoch}"
    return EnvSnapshot(
        id=f"{session.id}!{kind}{number}",
        session_id=session.id,
        run_id=session.run_id,
        attempt_id=session.attempt_id,
        kind=kind,
        ref=taken.ref,
        digest=taken.digest,
        size_bytes=taken.size_bytes,
        created_at=now,
    )
