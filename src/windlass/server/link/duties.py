"""What has to be done for workers on the link again and again: their leases, and how they are."""

import asyncio

from windlass.server.auth import STALE_MS
from windlass.server.link.plane import LinkPlane


class LinkLeases:
    """Keeps the leases of everything connected workers hold."""

    def __init__(self, plane: LinkPlane) -> None:
        self._plane = plane

    async def run_once(self) -> int:
        await self._plane.renew()
        return 0

    async def pause(self) -> None:
        await asyncio.sleep(self._plane.attempts.lease_s / 3)


class LinkTokens:
    """Ends connections whose token was revoked, as soon as event streams end."""

    def __init__(self, plane: LinkPlane) -> None:
        self._plane = plane

    async def run_once(self) -> int:
        await self._plane.check_tokens()
        return 0

    async def pause(self) -> None:
        await asyncio.sleep(STALE_MS / 1000)


class LinkChecks:
    """Notes who is there, sends packages where they are needed, keeps what workers said."""

    def __init__(self, plane: LinkPlane) -> None:
        self._plane = plane

    async def run_once(self) -> int:
        plane = self._plane
        if plane.sessions:
            await plane.check()
            await plane.installs.look()
        await plane.feedback.flush()
        return 0

    async def pause(self) -> None:
        await asyncio.sleep(self._plane.engine.settings.worker_ttl_s / 3)
