"""The HTTP side of the Pod API server: namespaces, pods and leases, listed and watched."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from windlass.testing.kube.events import EVENT_FIELDS, EVENTS, Events
from windlass.testing.kube.faults import Faults
from windlass.testing.kube.objects import Json, Objects
from windlass.testing.kube.pages import Pages
from windlass.testing.kube.pods import PODS, Pods, stamp
from windlass.testing.kube.problems import ApiError
from windlass.testing.kube.secrets import Secrets
from windlass.testing.kube.selectors import Matches, selector
from windlass.testing.loopback import free_port
from windlass.testing.threaded import ThreadedServer

_WATCH_S = 1800.0
LEASES = "leases"
Handler = Callable[[Request], Awaitable[Response]]


class KubeServer:
    """An API server on a loopback port, in a thread of its own for as long as the block runs."""

    def __init__(self, port: int = 0, token: str = "") -> None:
        self.port = port or free_port()
        self.token = token
        self.objects = Objects()
        self.pods = Pods(self.objects)
        self.secrets = Secrets(self.objects)
        self.events = Events(self.objects)
        self.faults = Faults()
        self.bookmark_s = 60.0
        self.watches = 0
        """How many watches were begun."""
        self._pages = Pages(self.objects)
        self._wakers: set[asyncio.Event] = set()
        self._cut = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self.objects.changed = self._wake
        self.objects.create("namespaces", {"metadata": {"name": "default"}})
        self._server = ThreadedServer(Starlette(routes=self._routes()), self.port, "Pod API server")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut_watches(self) -> None:
        """Drop every watch's connection now."""
        self._cut += 1
        self._wake()

    def __enter__(self) -> Self:
        self._server.start(self._began)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut_watches()
        self._server.stop()

    def _began(self) -> None:
        self._loop = asyncio.get_running_loop()

    def _wake(self) -> None:
        if self._loop is not None and self._wakers:
            with contextlib.suppress(RuntimeError):  # it has stopped meanwhile
                self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waker in self._wakers:
            waker.set()

    def _routes(self) -> list[Route]:
        one = "/api/v1/namespaces/{namespace}/pods"
        secrets = "/api/v1/namespaces/{namespace}/secrets"
        events = "/api/v1/namespaces/{namespace}/events"
        leases = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        table: list[tuple[str, str, str, Handler]] = [
            ("POST", "/api/v1/namespaces", "create", self._create_namespace),
            ("GET", "/api/v1/pods", "list", self._list_pods),
            ("GET", one, "list", self._list_pods),
            ("POST", one, "create", self._create_pod),
            ("GET", one + "/{name}", "get", self._get_pod),
            ("PATCH", one + "/{name}", "patch", self._patch_pod),
            ("DELETE", one + "/{name}", "delete", self._delete_pod),
            ("PATCH", one + "/{name}/status", "patch", self._patch_status),
            ("POST", one + "/{name}/binding", "create", self._bind),
            ("GET", one + "/{name}/log", "get", self._log),
            ("POST", secrets, "create", self._create_secret),
            ("PATCH", secrets + "/{name}", "patch", self._patch_secret),
            ("DELETE", secrets + "/{name}", "delete", self._delete_secret),
            ("POST", events, "create", self._create_event),
            ("GET", events, "events", self._list_events),
            ("POST", leases, "create", self._create_lease),
            ("GET", leases + "/{name}", "get", self._get_lease),
            ("PUT", leases + "/{name}", "update", self._put_lease),
        ]
        return [
            Route(path, self._guarded(verb, handler), methods=[method])
            for method, path, verb, handler in table
        ]

    def _guarded(self, verb: str, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            watched = request.query_params.get("watch") in ("1", "true")
            try:
                if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
                    raise ApiError(401, "Unauthorized", "Unauthorized")
                self.faults.meet("watch" if watched else verb)
                return await handler(request)
            except ApiError as error:
                after = error.retry_after_s
                headers = {} if after is None else {"retry-after": str(after)}
                return _json(error.status, error.code, headers)
            except msgspec.DecodeError as error:
                return _json(ApiError(400, "BadRequest", str(error)).status, 400)

        return guarded

    async def _create_namespace(self, request: Request) -> Response:
        given = await _body(request)
        made = {"kind": "Namespace", "apiVersion": "v1", "metadata": given["metadata"]}
        return _json(self.objects.create("namespaces", made), 201)

    async def _list_pods(self, request: Request) -> Response:
        query, namespace = request.query_params, request.path_params.get("namespace", "")
        matches = selector(query.get("labelSelector", ""), query.get("fieldSelector", ""))
        if query.get("watch") in ("1", "true"):
            changes = self._watch(request, namespace, matches)
            return StreamingResponse(changes, media_type="application/json")
        limit = int(query.get("limit") or 0)
        return Response(
            self._pages.page(PODS, namespace, matches, limit, query.get("continue", "")),
            media_type="application/json",
        )

    async def _watch(
        self, request: Request, namespace: str, matches: Matches
    ) -> AsyncIterator[bytes]:
        """Changes as they come, several at a time where several are there."""
        query, loop = request.query_params, asyncio.get_running_loop()
        began, cut = loop.time(), self._cut
        ends = began + float(query.get("timeoutSeconds") or _WATCH_S)
        cut_after = self.faults.cut_watches_after_s
        cut_at = None if cut_after is None else began + cut_after
        marks = query.get("allowWatchBookmarks") in ("1", "true")
        mark_at = began + self.bookmark_s if marks else ends
        version = int(query.get("resourceVersion") or 0)
        waker = asyncio.Event()
        self._wakers.add(waker)
        self.watches += 1
        try:
            if not version:
                version, there = self.objects.select(PODS, namespace, matches)
                yield b"".join(_event("ADDED", msgspec.json.encode(item)) for item in there)
            while (now := loop.time()) < ends:
                if self._cut != cut or (cut_at is not None and now >= cut_at):
                    raise ConnectionResetError("cut on order")
                waker.clear()
                version, changes = self.objects.since(version, PODS, namespace)
                seen = filter(None, (change.as_seen_by(matches) for change in changes))
                if told := b"".join(_event(*event) for event in seen):
                    yield told
                    continue
                if now >= mark_at:
                    mark_at = now + self.bookmark_s
                    yield _event("BOOKMARK", _bookmark(version))
                until = min(ends, mark_at, cut_at or ends)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.001, until - loop.time())):
                        await waker.wait()
        except ApiError as error:
            yield _event("ERROR", msgspec.json.encode(error.status))
        finally:
            self._wakers.discard(waker)

    async def _create_pod(self, request: Request) -> Response:
        made = self.pods.create(request.path_params["namespace"], await _body(request))
        return _json(made, 201)

    async def _get_pod(self, request: Request) -> Response:
        return _json(self.objects.get(PODS, *_where(request)))

    async def _patch_pod(self, request: Request) -> Response:
        return _json(self.pods.patch(*_where(request), await _patch(request)))

    async def _patch_status(self, request: Request) -> Response:
        return _json(self.pods.patch_status(*_where(request), await _patch(request)))

    async def _delete_pod(self, request: Request) -> Response:
        options = await _body(request)
        if grace := request.query_params.get("gracePeriodSeconds"):
            options["gracePeriodSeconds"] = int(grace)
        gone = self.pods.delete(*_where(request), options)
        self.secrets.collect()
        return _json(gone)

    async def _create_secret(self, request: Request) -> Response:
        made = self.secrets.create(request.path_params["namespace"], await _body(request))
        return _json(made, 201)

    async def _patch_secret(self, request: Request) -> Response:
        return _json(self.secrets.patch(*_where(request), await _patch(request)))

    async def _delete_secret(self, request: Request) -> Response:
        return _json(self.secrets.delete(*_where(request)))

    async def _create_event(self, request: Request) -> Response:
        made = self.events.create(request.path_params["namespace"], await _body(request))
        return _json(made, 201)

    async def _list_events(self, request: Request) -> Response:
        query, namespace = request.query_params, request.path_params["namespace"]
        fields = query.get("fieldSelector", "")
        matches = selector(query.get("labelSelector", ""), fields, EVENT_FIELDS)
        limit, token = int(query.get("limit") or 0), query.get("continue", "")
        page = self._pages.page(EVENTS, namespace, matches, limit, token)
        return Response(page, media_type="application/json")

    async def _bind(self, request: Request) -> Response:
        given = await _body(request)
        self.pods.bind(*_where(request), given["target"]["name"])
        return _json({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}, 201)

    async def _log(self, request: Request) -> Response:
        tail = request.query_params.get("tailLines")
        text = self.pods.log(*_where(request), None if tail is None else int(tail))
        return PlainTextResponse(text)

    async def _create_lease(self, request: Request) -> Response:
        given = await _body(request)
        metadata = {**given["metadata"], "namespace": request.path_params["namespace"]}
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": stamp(time.time())}
        return _json(self.objects.create(LEASES, {**given, "metadata": metadata}), 201)

    async def _get_lease(self, request: Request) -> Response:
        return _json(self.objects.get(LEASES, *_where(request)))

    async def _put_lease(self, request: Request) -> Response:
        given = await _body(request)
        namespace, name = _where(request)
        metadata = {**given["metadata"], "namespace": namespace, "name": name}
        return _json(self.objects.replace(LEASES, {**given, "metadata": metadata}))


def _where(request: Request) -> tuple[str, str]:
    return request.path_params["namespace"], request.path_params["name"]


async def _body(request: Request) -> Json:
    raw = await request.body()
    return msgspec.json.decode(raw, type=Json) if raw else {}


async def _patch(request: Request) -> Json:
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind != "application/merge-patch+json":
        raise ApiError(415, "UnsupportedMediaType", f"this server takes merge patches, not {kind}")
    return await _body(request)


def _event(kind: str, item: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), item)


def _bookmark(version: int) -> bytes:
    mark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(version)}}
    return msgspec.json.encode(mark)


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
