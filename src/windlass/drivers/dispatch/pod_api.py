"""The calls a launcher makes to the Kubernetes API: make, find, list, read the log and the events
of, delete."""

import contextlib
import logging
from collections.abc import Generator
from typing import Any

import msgspec

from windlass.kube.api import KubeCalls, KubeRefused
from windlass.kube.events import Event, EventList, gathered
from windlass.kube.pods import Pod, PodList
from windlass.model.errors import Unavailable
from windlass.model.pod_records import KubeEvents

log = logging.getLogger(__name__)

LOG_LINES = 500
LOG_BYTES = 64 * 1024
_PAGE = 500
_pods = msgspec.json.Decoder(Pod)
_lists = msgspec.json.Decoder(PodList)
_EVENT_PAGES = 4
"""A pod has a few dozen events; they come in no order of time."""
_events = msgspec.json.Decoder(Event)
_event_lists = msgspec.json.Decoder(EventList)


class PodApi:
    """Pods of one cluster; those of one installation where they are listed."""

    def __init__(self, api: KubeCalls) -> None:
        self._api = api

    async def close(self) -> None:
        await self._api.close()

    async def create(self, namespace: str, body: dict[str, Any]) -> Pod:
        """Make a pod, or find that it was made before: its name is its attempt's alone."""
        try:
            raw = await self._api.call("POST", f"/api/v1/namespaces/{namespace}/pods", body=body)
        except KubeRefused as error:
            if error.code != 409:
                raise
            raw = await self._existing(f"{namespace}/{body['metadata']['name']}")
        return _pods.decode(raw)

    async def _existing(self, pod: str) -> bytes:
        try:
            return await self._api.call("GET", _path(pod))
        except KubeRefused as error:
            if error.code != 404:
                raise
            raise Unavailable(f"pod {pod} went while it was looked at") from error

    async def find(self, pod: str) -> Pod | None:
        """A pod by its namespace and name, if it is there for us to see."""
        try:
            return _pods.decode(await self._api.call("GET", _path(pod)))
        except KubeRefused as error:
            if error.code not in (403, 404):
                raise
            return None

    async def list(self, selector: str, namespace: str = "") -> list[Pod]:
        """Pods with these labels, of one namespace or of all."""
        found: list[Pod] = []
        where = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
        params = {"labelSelector": selector, "limit": str(_PAGE)}
        while True:
            page = _lists.decode(await self._page(where, params))
            for raw in page.items:
                try:
                    found.append(_pods.decode(raw))
                except msgspec.MsgspecError as error:
                    log.warning("a pod cannot be read and is passed over: %s", error)
            if not page.metadata.continue_:
                return found
            params["continue"] = page.metadata.continue_

    async def _page(self, where: str, params: dict[str, str]) -> bytes:
        try:
            return await self._api.call("GET", where, params)
        except KubeRefused as error:
            # Without a list nothing can be said of any pod: time helps, or whoever gives rights.
            what = f"pods cannot be listed: {error}"
            raise Unavailable(what, error.retry_after_s or 1.0) from error

    async def events(self, pod: str, uid: str) -> KubeEvents:
        """What Kubernetes says happened to a pod: its most recent events."""
        namespace = pod.partition("/")[0]
        params = {"fieldSelector": f"involvedObject.uid={uid}", "limit": str(_PAGE)}
        found: list[Event] = []
        for _ in range(_EVENT_PAGES):
            where = f"/api/v1/namespaces/{namespace}/events"
            page = _event_lists.decode(await self._api.call("GET", where, params))
            for raw in page.items:
                try:
                    found.append(_events.decode(raw))
                except msgspec.MsgspecError as error:
                    log.warning("an event cannot be read and is passed over: %s", error)
            if not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_
        return gathered(found)

    async def log(self, pod: str) -> str:
        """The end of what a pod has said; nothing where nothing can be had."""
        params = {"container": "main", "tailLines": str(LOG_LINES), "limitBytes": str(LOG_BYTES)}
        try:
            raw = await self._api.call("GET", _path(pod) + "/log", params)
        except KubeRefused:
            return ""
        return raw[-LOG_BYTES:].decode(errors="replace")

    async def delete(self, pod: str, uid: str) -> None:
        """Have a pod end within its own grace, if it is still this one."""
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            await self._api.call("DELETE", _path(pod), body=body)
        except KubeRefused as error:
            if error.code not in (404, 409):
                raise

    # The Secret of a pod, which has the pod's name

    async def make_secret(self, namespace: str, body: dict[str, Any]) -> None:
        """Make a Secret, or find that it was made before: what is in it would be the same."""
        try:
            await self._api.call("POST", f"/api/v1/namespaces/{namespace}/secrets", body=body)
        except KubeRefused as error:
            if error.code != 409:
                raise

    async def own_secret(self, pod: str, uid: str) -> None:
        """Have a pod's Secret go with it, whoever is there to see to that."""
        name = pod.partition("/")[2]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
        body = {"metadata": {"ownerReferences": [owner]}}
        with _gone_is_fine():
            await self._api.call("PATCH", _path(pod, "secrets"), body=body)

    async def drop_secret(self, pod: str) -> None:
        with _gone_is_fine():
            await self._api.call("DELETE", _path(pod, "secrets"))


@contextlib.contextmanager
def _gone_is_fine() -> Generator[None]:
    try:
        yield
    except KubeRefused as error:
        if error.code != 404:
            raise


def _path(pod: str, kind: str = "pods") -> str:
    namespace, _, name = pod.partition("/")
    return f"/api/v1/namespaces/{namespace}/{kind}/{name}"
