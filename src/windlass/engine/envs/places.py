"""What is done in places: by attempts that have one, and by operators who look.

An attempt's call is an action of its ledger, written down before it is done; that also tells
whether the attempt still holds its task. The runtime is told the session's epoch with each call, so
what a holder began before the place went on to another is refused there as well.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from windlass.engine import ledger
from windlass.engine.engine import Engine
from windlass.engine.envs.follow import Follower, snapshot_row, snapshots_of
from windlass.engine.envs.hosts import Hosts
from windlass.engine.envs.lease import while_held, while_wanted
from windlass.model.envs import ENV_OVER, EnvSession, EnvSnapshot, EnvState, place_name
from windlass.model.errors import (
    BadRequest,
    Conflict,
    NotFound,
    StaleLease,
    Unavailable,
    WindlassError,
)
from windlass.model.ids import run_of
from windlass.model.ledger import Action, ActionState, EffectClass
from windlass.model.rows import Attempt, Row
from windlass.model.states import ATTEMPT_LIVE
from windlass.ports.env import (
    BrowserBackend,
    EnvBackend,
    Executed,
    NoSuchFile,
    OnOutput,
    PlaceError,
    PlaceGone,
    RuntimeAway,
    Snapshot,
    StalePlace,
)
from windlass.ports.store import Cond
from windlass.protocol.envs import EnvExec, EnvExecBody, EnvMark, EnvRead, EnvWrite

READ, CHANGE = EffectClass.LOCAL_READ, EffectClass.LOCAL_MUTATION
OUTSIDE = EffectClass.EXTERNAL_WRITE
_SAID_CHARS = 2_000
"""How much of what a command said the ledger keeps."""


class Places:
    """The places that can be reached from here."""

    def __init__(self, engine: Engine, hosts: Hosts, follower: Follower) -> None:
        self.engine = engine
        self.hosts = hosts
        self._follower = follower

    # By attempts

    async def held_by(self, attempt_id: str) -> EnvSession:
        """The session an attempt has."""
        where = [Cond("run_id", "=", run_of(attempt_id)), Cond("attempt_id", "=", attempt_id)]
        found = await self.engine.store.page(EnvSession, where, limit=1)
        if not found:
            async with self.engine.store.session() as reading:
                attempts = await reading.rows(Attempt, [attempt_id])
            if attempts and attempts[0].state not in ATTEMPT_LIVE:
                raise StaleLease(f"attempt {attempt_id} is {attempts[0].state}")
            raise NotFound(f"attempt {attempt_id} has no environment")
        session = found[0]
        if session.state is not EnvState.COMMITTED:
            raise StaleLease(f"the environment of attempt {attempt_id} is {session.state}")
        return session

    async def execute(
        self,
        call: EnvExec,
        on_output: OnOutput | None = None,
        gone: asyncio.Event | None = None,
    ) -> Executed:
        """Run a command for an attempt, until the attempt has lost its lease, or is `gone`."""
        session = await self.held_by(call.attempt_id)
        said: dict[str, Any] = {"command": call.command, "workdir": call.workdir}
        async with self._acting(session, call.call_id, "env.exec", CHANGE, said) as told:
            work = self._ran(session, call, on_output)
            done = await while_held(self.engine, session, gone, work)
            told.update(code=done.code, out=_said(done.out), err=_said(done.err))
        return done

    async def read(self, call: EnvRead) -> bytes:
        session = await self.held_by(call.attempt_id)
        async with self._acting(session, call.call_id, "env.read", READ, {"path": call.path}):
            return await self._backend(session).read(
                place_name(session.id), session.epoch, call.path
            )

    async def write(self, call: EnvWrite) -> None:
        session = await self.held_by(call.attempt_id)
        said = {"path": call.path, "size": len(call.data)}
        async with self._acting(session, call.call_id, "env.write", CHANGE, said):
            await self._backend(session).write(
                place_name(session.id), session.epoch, call.path, call.data
            )

    async def photograph(self, call: EnvMark) -> EnvSnapshot:
        session = await self.held_by(call.attempt_id)
        async with self._acting(session, call.call_id, "env.snapshot", READ, {}) as told:
            taken = await self.snapshot(session)
            told.update(digest=taken.digest)
        return taken

    async def let_in(self, call: EnvMark) -> EnvSession:
        """A holder is about to drive its browser. What it does there it does by itself, so the
        ledger has that it was let in, as what may change things outside."""
        session = await self.held_by(call.attempt_id)
        self.browser(session)
        async with self._acting(session, call.call_id, "env.browser", OUTSIDE, {}):
            return session

    @asynccontextmanager
    async def _acting(
        self,
        session: EnvSession,
        call_id: str,
        tool: str,
        effect: EffectClass,
        said: dict[str, Any],
    ) -> AsyncGenerator[dict[str, Any]]:
        """Write an action down, do it, and write down how it went."""
        attempt, told = session.attempt_id, dict[str, Any]()
        if session.epoch > 1:
            await self._bring_back(session)
        await ledger.begin(self.engine, attempt, call_id, tool, effect, input=said)
        try:
            async with speaking_plainly(session):
                yield told
        except WindlassError as error:
            failed = ActionState.FAILED
            await ledger.end(self.engine, attempt, call_id, failed, error=str(error))
            raise
        await ledger.end(self.engine, attempt, call_id, ActionState.COMPLETED, output=told)

    async def _bring_back(self, session: EnvSession) -> None:
        """A place may have been lost while it was held. As long as its new holder has done nothing
        there, it is what it was when the last one left it, and is made so again."""
        where = [Cond("run_id", "=", session.run_id), Cond("attempt_id", "=", session.attempt_id)]
        if await self.engine.store.count(Action, where):
            return
        backend, name = self._backend(session), place_name(session.id)
        async with speaking_plainly(session):
            state = await backend.inspect(name)
            if state == "stopped":
                await backend.allocate(await self._follower.spec_of(session))
            elif state == "gone":
                await self._restore(backend, session)
            await backend.still(name, session.epoch)

    async def _restore(self, backend: EnvBackend, session: EnvSession) -> None:
        kept = await snapshots_of(self.engine, session, kind="checkpoint")
        if not kept:
            raise PlaceGone("it was lost while it was held, and there is no snapshot of it")
        last = kept[-1]
        taken = Snapshot(ref=last.ref, digest=last.digest, size_bytes=last.size_bytes)
        await backend.restore(await self._follower.spec_of(session), taken)

    # By operators

    async def look(
        self,
        session: EnvSession,
        call: EnvExecBody,
        on_output: OnOutput | None = None,
        gone: asyncio.Event | None = None,
    ) -> Executed:
        """Run something in a place beside its holder, if it has one."""
        async with speaking_plainly(session):
            # A place that is held lets only its next holder in: whoever looks comes with that one.
            epoch = session.epoch + (session.state is EnvState.HELD)
            work = self._ran(there(session), call, on_output, epoch)
            return await while_wanted(gone, work)

    async def screenshot(self, session: EnvSession) -> bytes:
        async with speaking_plainly(session):
            return await self.browser(session).screenshot(place_name(session.id))

    def browser(self, session: EnvSession) -> BrowserBackend:
        backend = self._backend(there(session))
        if not isinstance(backend, BrowserBackend):
            raise BadRequest(f"session {session.id} is a {session.kind}, not a browser")
        return backend

    async def snapshot(self, session: EnvSession, *along: Row) -> EnvSnapshot:
        label = f"manual-{session.epoch}-{self.engine.store.now()}"
        async with speaking_plainly(session):
            backend = self._backend(there(session))
            taken = await backend.snapshot(place_name(session.id), label)
        row = snapshot_row(session, "manual", taken, self.engine.store.now())
        row = await self._follower.with_files(backend, session, row, label)
        await self.engine.write(row, *along)
        return row

    async def _ran(
        self,
        session: EnvSession,
        call: EnvExec | EnvExecBody,
        on_output: OnOutput | None,
        epoch: int = 0,
    ) -> Executed:
        return await self._backend(session).execute(
            place_name(session.id),
            epoch or session.epoch,
            call.command,
            stdin=call.stdin,
            workdir=call.workdir,
            env=call.env,
            timeout_s=call.timeout_s,
            on_output=on_output,
        )

    def _backend(self, session: EnvSession) -> EnvBackend:
        return self.hosts.get(session.host, session.kind)


def there(session: EnvSession) -> EnvSession:
    """A session whose place is there."""
    if session.state in ENV_OVER or session.state is EnvState.RESERVED:
        raise Conflict(f"session {session.id} is {session.state}; there is no place to look into")
    return session


@asynccontextmanager
async def speaking_plainly(session: EnvSession) -> AsyncGenerator[None]:
    """Errors of runtimes as callers are told them."""
    try:
        yield
    except StalePlace as error:
        raise StaleLease(f"another holds session {session.id} by now") from error
    except PlaceGone as error:
        raise Conflict(f"the place of session {session.id} is gone: {error}") from error
    except NoSuchFile as error:
        raise NotFound(str(error)) from error
    except PlaceError as error:
        raise BadRequest(str(error)) from error
    except RuntimeAway as error:
        raise Unavailable(f"the runtime cannot be reached: {error}") from error


def _said(text: bytes) -> str:
    return text[:_SAID_CHARS].decode(errors="replace")
