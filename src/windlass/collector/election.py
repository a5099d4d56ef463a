"""Who of several collectors works: a Lease of Kubernetes, taken and renewed.

The holder stops before others may begin: it gives up `RENEW_S` after its last renewal, they wait
`LEASE_S` after the last change they saw, each by its own clock. Two that work for a moment anyway
say the same things under the same ids.
"""

import logging
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import anyio
import msgspec

from windlass.kube.api import KubeApi, KubeRefused
from windlass.model.errors import Unavailable

log = logging.getLogger(__name__)

LEASE_S, RENEW_S, TRY_S = 15.0, 10.0, 2.0
_RELEASE_S = 2.0


class Election:
    """One candidate for one lease."""

    def __init__(
        self,
        api: KubeApi,
        namespace: str,
        name: str,
        identity: str,
        lease_s: float = LEASE_S,
        renew_s: float = RENEW_S,
        try_s: float = TRY_S,
    ) -> None:
        self._api = api
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._identity = identity
        self._lease_s, self._renew_s, self._try_s = lease_s, renew_s, try_s
        self._seen: tuple[str, float] = ("", 0.0)
        """The version of the lease seen last, and when by our own clock it was new."""
        self._trouble = ""
        self.leads = False

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Work whenever the lease is ours, until cancelled."""
        while True:
            if not await self._try():
                await anyio.sleep(self._try_s)
                continue
            log.info("%s holds the lease %s and watches", self._identity, self._name)
            self.leads = True
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(work)
                    await self._hold()
                    group.cancel_scope.cancel()
            except anyio.get_cancelled_exc_class():
                # We are asked to stop: let another begin at once.
                with anyio.move_on_after(_RELEASE_S, shield=True):
                    await self._try(release=True)
                raise
            finally:
                self.leads = False
            log.warning("%s lost the lease %s and stands by", self._identity, self._name)

    async def _hold(self) -> None:
        """Renew until that fails for too long."""
        renewed = time.monotonic()
        while time.monotonic() - renewed < self._renew_s:
            await anyio.sleep(self._try_s)
            began = time.monotonic()
            with anyio.move_on_after(max(0.1, self._renew_s - (began - renewed))):
                if await self._try():
                    renewed = began

    async def _try(self, *, release: bool = False) -> bool:
        """Take or renew the lease; whether it is ours now."""
        try:
            taken = await self._take(release=release)
        except KubeRefused as error:
            if error.code == 409:
                return False  # somebody was quicker
            allowed = error.code not in (401, 403)
            hint = "" if allowed else "; the service account needs get, create and update of leases"
            self._say(f"{error}{hint}")
            return False
        except Unavailable as error:
            self._say(str(error))
            return False
        self._trouble = ""
        return taken

    def _say(self, trouble: str) -> None:
        """Once, however often it is tried."""
        if trouble != self._trouble:
            log.warning("the lease %s: %s", self._name, trouble)
        self._trouble = trouble

    async def _take(self, *, release: bool) -> bool:
        lease = await self._read()
        if lease is None:
            body = {"metadata": {"name": self._name}, "spec": self._spec({}, release=release)}
            await self._api.call("POST", self._path, body=body)
            return True
        spec: dict[str, Any] = lease.get("spec") or {}
        holder = spec.get("holderIdentity")
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, time.monotonic())
        duration = spec.get("leaseDurationSeconds") or self._lease_s
        is_free = not holder or time.monotonic() - self._seen[1] > duration
        if holder != self._identity and not is_free:
            return False
        body = {**lease, "spec": self._spec(spec, release=release)}
        await self._api.call("PUT", f"{self._path}/{self._name}", body=body)
        return True

    async def _read(self) -> dict[str, Any] | None:
        try:
            raw = await self._api.call("GET", f"{self._path}/{self._name}")
        except KubeRefused as error:
            if error.code == 404:
                return None
            raise
        return msgspec.json.decode(raw, type=dict[str, Any])

    def _spec(self, old: dict[str, Any], *, release: bool) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        is_ours = old.get("holderIdentity") == self._identity
        changes = int(old.get("leaseTransitions") or 0) + (0 if is_ours else 1)
        return {
            "holderIdentity": "" if release else self._identity,
            # Whole seconds, and at least one, is what the API takes.
            "leaseDurationSeconds": max(1, round(self._lease_s)),
            "acquireTime": old.get("acquireTime", now) if is_ours else now,
            "renewTime": now,
            "leaseTransitions": changes,
        }
