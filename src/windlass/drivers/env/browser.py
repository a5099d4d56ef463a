"""Places that are browser sessions: one Chromium process each, with a profile of its own.

A session is a folder below the state folder, and its process is found by that folder, so that any
process finds it again. It is driven over DevTools by its holder, through the gateway, and by us for
snapshots and screenshots. A browser that died is started again on its profile, and what the profile
had not yet written down is put back from when it was last seen.
"""

import asyncio
import base64
import contextlib
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windlass.drivers.env import browser_config, browser_state, gateway
from windlass.drivers.env.browser_config import BLANK
from windlass.drivers.env.browser_memory import sessions
from windlass.drivers.env.browser_place import BrowserPlace
from windlass.drivers.env.browser_state import BrowserState
from windlass.drivers.env.browser_version import version_of
from windlass.drivers.env.cdp import attached, browser_at, pages_of
from windlass.drivers.env.contents import changes_of
from windlass.drivers.env.holders import Holders
from windlass.drivers.env.names import WORKSPACE, checked_label
from windlass.drivers.env.screening import Screen
from windlass.ports.env import (
    Config,
    Executed,
    FileChanges,
    MessageSocket,
    OnOutput,
    Place,
    PlaceError,
    PlaceGone,
    PlaceSpec,
    RuntimeAway,
    Snapshot,
)

log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""How often it is looked how much memory browsers use."""


class ChromiumBackend:
    """Implements `EnvBackend` and `BrowserBackend` with the Chromium of this machine."""

    kind = "browser"

    def __init__(self, program: str, state: Path) -> None:
        self._program = program
        self._folder = state / "sessions"
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._holders = Holders(state / "holders")
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._version = ""
        self._watching: asyncio.Task[None] | None = None

    async def capabilities(self) -> dict[str, Any]:
        return {"runtime": "Chromium", "version": await self._told_version()}

    def check(self, config: Config) -> list[str]:
        return browser_config.problems(config)

    async def allocate(self, spec: PlaceSpec) -> Place:
        place = self._place(spec.name)
        self._watch()
        await self._told_version()
        async with self._locks[spec.name]:
            started, last = await asyncio.to_thread(place.start, self._program, spec)
            if started:
                async with browser_at(await asyncio.to_thread(place.endpoint)) as cdp:
                    if last is not None:
                        await browser_state.put_back(cdp, last)
                    else:
                        await browser_state.open_pages(cdp, [spec.config.get("start_url", BLANK)])
        return self._told(spec)

    async def execute(
        self,
        name: str,
        epoch: int,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        workdir: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_output: OnOutput | None = None,
    ) -> Executed:
        raise PlaceError("a browser runs no commands: drive its pages, or use a container")

    async def read(self, name: str, epoch: int, path: str) -> bytes:
        async with self._locks[name]:
            place = await self._held(name, epoch)
            return await asyncio.to_thread(place.workspace.read, path)

    async def write(self, name: str, epoch: int, path: str, data: bytes) -> None:
        async with self._locks[name]:
            place = await self._held(name, epoch)
            await asyncio.to_thread(place.workspace.write, path, data)

    async def snapshot(self, name: str, label: str) -> Snapshot:
        place = self._place(name)
        async with self._locks[name]:
            state = await self._take(place)
            size = await asyncio.to_thread(place.keep, checked_label(label), state)
        return Snapshot(ref=f"{name}:{label}", digest=state.digest(), size_bytes=size)

    async def changes(self, name: str, since: str, label: str) -> FileChanges:
        """Of its workspace; cookies and pages are no files."""
        place = self._place(name)
        async with self._locks[name]:
            before = await asyncio.to_thread(place.kept, checked_label(since))
            after = await asyncio.to_thread(place.kept, checked_label(label))
        if before is None or after is None:
            raise PlaceGone(f'there are no snapshots "{since}" and "{label}" of {name}')
        return changes_of(before.files, after.files, WORKSPACE)

    async def restore(self, spec: PlaceSpec, snapshot: Snapshot) -> Place:
        whose, _, label = snapshot.ref.partition(":")
        place = self._place(spec.name)
        self._watch()
        await self._told_version()
        async with self._locks[spec.name]:
            state = await asyncio.to_thread(self._place(whose).kept, label)
            if state is None:
                raise PlaceGone(f"there is no snapshot {snapshot.ref}")
            await asyncio.to_thread(place.start_anew, self._program, spec, state)
            await asyncio.to_thread(place.keep_newest, state)
            async with browser_at(await asyncio.to_thread(place.endpoint)) as cdp:
                await browser_state.put_back(cdp, state)
        return self._told(spec)

    async def inspect(self, name: str) -> str:
        return await asyncio.to_thread(self._place(name).state)

    async def still(self, name: str, epoch: int) -> None:
        """Earlier holders' connections are the gateway's to end; none is opened for them anew."""
        async with self._locks[name]:
            place = self._place(name)
            if await asyncio.to_thread(place.state) == "gone":
                raise PlaceGone(f"there is no browser {name}")
            self._holders.admit(name, epoch)

    async def release(self, name: str) -> None:
        async with self._locks[name]:
            await asyncio.to_thread(self._place(name).remove)
            self._holders.forget(name)
        self._locks.pop(name, None)

    async def list(self) -> list[Place]:
        self._watch()
        await self._told_version()
        names = sorted(folder.name for folder in self._folder.iterdir() if folder.is_dir())
        specs = [self._place(name).spec() or PlaceSpec(name=name, config={}) for name in names]
        return [self._told(spec) for spec in specs]

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def _watch(self) -> None:
        """From the first on that is asked for, browsers that grow too large are ended."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._end_large())

    async def _end_large(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            for name in await asyncio.to_thread(self._large):
                log.warning("the browser %s was ended: %s", name, self._place(name).why_ended())

    def _large(self) -> Sequence[str]:
        there = [folder.name for folder in self._folder.iterdir() if folder.is_dir()]
        found = sessions() if there else {}
        ended: Sequence[str] = ()
        for name in there:
            with contextlib.suppress(OSError):  # it was released meanwhile
                if self._place(name).end_if_large(found):
                    ended = (*ended, name)
        return ended

    async def serve(
        self, name: str, epoch: int, client: MessageSocket, revoked: asyncio.Event
    ) -> str:
        url = await self.endpoint(name, epoch)
        place = self._place(name)
        try:
            ended = await gateway.pipe(client, url, Screen(place.files), revoked)
        finally:
            with contextlib.suppress(PlaceError, PlaceGone, RuntimeAway):
                await self._remember(place)
        if ended == "browser" and place.why_ended():
            raise PlaceGone(await asyncio.to_thread(place.what_became))
        return ended

    async def endpoint(self, name: str, epoch: int) -> str:
        """Where its DevTools answer, on this machine; for our gateway alone."""
        async with self._locks[name]:
            place = await self._held(name, epoch)
            return await asyncio.to_thread(place.endpoint)

    async def screenshot(self, name: str) -> bytes:
        place = self._place(name)
        async with browser_at(await asyncio.to_thread(place.endpoint)) as cdp:
            pages = await pages_of(cdp)
            if not pages:
                raise PlaceError(f"the browser {name} has no page open")
            async with attached(cdp, pages[0]["targetId"]) as session:
                told = await cdp.call("Page.captureScreenshot", {"format": "png"}, session=session)
        return base64.b64decode(told["data"])

    def _place(self, name: str) -> BrowserPlace:
        return BrowserPlace(self._folder, name)

    async def _held(self, name: str, epoch: int) -> BrowserPlace:
        place = self._place(name)
        state = await asyncio.to_thread(place.state)
        if state == "running":
            self._holders.admit(name, epoch)
            return place
        raise PlaceGone(await asyncio.to_thread(place.what_became))

    async def _remember(self, place: BrowserPlace) -> None:
        """Keep the session as it is, should the browser die before it wrote everything down."""
        async with self._locks[place.name]:
            state = await self._take(place)
            await asyncio.to_thread(place.keep_newest, state)

    async def _take(self, place: BrowserPlace) -> BrowserState:
        files = await asyncio.to_thread(place.workspace.all)
        async with browser_at(await asyncio.to_thread(place.endpoint)) as cdp:
            return await browser_state.take(cdp, files)

    def _told(self, spec: PlaceSpec) -> Place:
        details = {"browser": self._version, "workspace": WORKSPACE}
        return Place(name=spec.name, details=details, labels=dict(spec.labels))

    async def _told_version(self) -> str:
        if not self._version:
            self._version = await version_of(self._program, self._folder.parent / "version")
        return self._version
