"""What goes on in a place for as long as its session belongs to whoever began it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from windlass.engine.engine import Engine
from windlass.model.envs import EnvSession, EnvState
from windlass.model.errors import Conflict, StaleLease, Unavailable

T = TypeVar("T")
_LOOK_S = 1.0
"""How soon a lease is seen to be over that another process has ended."""


async def watch(engine: Engine, session: EnvSession, revoked: asyncio.Event) -> None:
    """Notice when the session goes on to another, or ends."""
    moved = asyncio.Event()
    with engine.feed.runs.watching(session.run_id, moved):
        while not revoked.is_set():
            moved.clear()
            if not await is_still_held(engine, session):
                revoked.set()
                return
            try:
                async with asyncio.timeout(_LOOK_S):
                    await moved.wait()
            except TimeoutError:
                continue


async def is_still_held(engine: Engine, session: EnvSession) -> bool:
    try:
        async with engine.store.session() as reading:
            found = await reading.rows(EnvSession, [session.id])
    except Unavailable:
        return True  # nobody can say, and it was so a moment ago
    mine = found and found[0].state is EnvState.COMMITTED
    return bool(mine) and found[0].epoch == session.epoch


async def while_held(
    engine: Engine, session: EnvSession, gone: asyncio.Event | None, work: Coroutine[Any, Any, T]
) -> T:
    """Do something until its lease is over, or whoever wants it has gone; then it is ended."""
    revoked = asyncio.Event()
    watching = asyncio.ensure_future(watch(engine, session, revoked))
    try:
        return await _until(work, revoked, gone or asyncio.Event())
    except _Ended as ended:
        if revoked.is_set():
            raise StaleLease(f"attempt {session.attempt_id} has lost {session.id}") from ended
        raise Conflict("whoever ran it has gone") from ended
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def while_wanted(gone: asyncio.Event | None, work: Coroutine[Any, Any, T]) -> T:
    """The same for whoever needs no lease."""
    try:
        return await _until(work, gone or asyncio.Event())
    except _Ended as ended:
        raise Conflict("whoever ran it has gone") from ended


class _Ended(Exception):
    """It was ended before it came to its own end."""


async def _until(work: Coroutine[Any, Any, T], *ends: asyncio.Event) -> T:
    doing = asyncio.ensure_future(work)
    waits = [asyncio.ensure_future(end.wait()) for end in ends]
    try:
        await asyncio.wait([doing, *waits], return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise _Ended
        return doing.result()
    finally:
        for task in (doing, *waits):
            task.cancel()
        await asyncio.gather(doing, *waits, return_exceptions=True)
