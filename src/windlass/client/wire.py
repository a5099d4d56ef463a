"""Requests and answers in the HTTP library's terms, for both clients."""

import httpx

from windlass import __version__
from windlass.client.errors import Unreachable
from windlass.client.problems import error_of
from windlass.client.requests import ApiCall, T
from windlass.client.settings import ClientSettings
from windlass.client.sse import Follow
from windlass.client.tls import why_unreachable
from windlass.model.errors import Unavailable, WindlassError

ACCEPT = "application/vnd.windlass+json, application/json"
"""Our own shape first: runs of workflows have another one besides."""
ANSWER_S = 30.0
STREAM_SILENCE_S = 60.0
"""Servers send something on a quiet stream now and then; longer silence is a dead connection."""


def headers_for(settings: ClientSettings) -> dict[str, str]:
    headers = {"User-Agent": f"windlass/{__version__}", "Accept": ACCEPT}
    if settings.token:
        headers["Authorization"] = f"Bearer {settings.token}"
    if settings.tenant:
        headers["Windlass-Tenant"] = settings.tenant
    return headers


def may_use_proxy(settings: ClientSettings) -> bool:
    """Proxies from the environment are for the wide world, not for a server on this machine."""
    return httpx.URL(settings.url).host not in ("127.0.0.1", "::1", "localhost")


def timeout_for(wait_s: float) -> httpx.Timeout:
    return httpx.Timeout(wait_s + ANSWER_S, connect=10.0)


def stream_timeout() -> httpx.Timeout:
    return httpx.Timeout(STREAM_SILENCE_S, connect=10.0)


def request_for(http: httpx.Client | httpx.AsyncClient, call: ApiCall[T]) -> httpx.Request:
    headers = dict(call.headers)
    if call.body is not None:
        headers["Content-Type"] = call.content_type
    return http.build_request(
        call.method,
        call.path,
        params=dict(call.query),
        content=call.body,
        headers=headers,
        timeout=timeout_for(call.wait_s),
    )


def stream_request_for(http: httpx.Client | httpx.AsyncClient, call: ApiCall[T]) -> httpx.Request:
    """The same, for an answer that is read while it goes on."""
    request = request_for(http, call)
    request.headers["Accept"] = "text/event-stream"
    request.extensions["timeout"] = stream_timeout().as_dict()
    return request


def read(call: ApiCall[T], answer: httpx.Response) -> T:
    """The answer's value, or the error it stands for."""
    if answer.status_code >= 300:
        raise refusal(answer)
    return call.read(answer.content)


def refusal(answer: httpx.Response) -> WindlassError:
    return error_of(answer.status_code, answer.content, answer.headers.get("Retry-After"))


def unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    return Unreachable(f"no answer from {url}: {why_unreachable(error)}")


def must_give_up(error: WindlassError, follow: Follow) -> bool:
    """Whether following a run's events should end with this error rather than with a new try."""
    return not isinstance(error, Unavailable) or follow.out_of_patience()
