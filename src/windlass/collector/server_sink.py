"""The server as a sink, where there is no Redis: `POST /api/v1/facts`."""

import logging
from collections.abc import Sequence

import httpx

from windlass.client.tls import http_tls
from windlass.collector.spool import SpooledEvent
from windlass.model.errors import BadRequest, Unavailable

log = logging.getLogger(__name__)

PATH = "/api/v1/facts"
_ANSWER_S = 15.0
_AGAIN = frozenset({401, 403, 404, 408, 425, 429})
"""Refusals that say nothing about what was sent: a wrong token or address, a busy server."""


class ServerSink:
    """Posts observations to a server."""

    def __init__(self, url: str, token: str = "", tls_ca: str = "") -> None:
        if not url.startswith(("http://", "https://")):
            hint = "write it as https://HOST:PORT"
            raise BadRequest(f"--server {url!r} is no address of a server; {hint}")
        self._http = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=_ANSWER_S,
            verify=http_tls(url, tls_ca),
        )

    def __str__(self) -> str:
        return f"the server at {self._http.base_url}"

    async def publish(self, events: Sequence[SpooledEvent]) -> Sequence[SpooledEvent]:
        if await self._taken(events):
            return ()
        if len(events) == 1:
            return events
        # Something in there cannot be taken; only that is given up.
        return [event for event in events if not await self._taken([event])]

    async def close(self) -> None:
        await self._http.aclose()

    async def _taken(self, events: Sequence[SpooledEvent]) -> bool:
        """Whether the server took them all; false if it never will."""
        body = b'{"events":[' + b",".join(event.body for event in events) + b"]}"
        headers = {"Content-Type": "application/json"}
        try:
            answer = await self._http.post(PATH, content=body, headers=headers)
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            raise Unavailable(f"the server at {self._http.base_url} is away: {why}") from error
        if answer.is_success:
            return True
        said = answer.text[:300]
        if not answer.is_client_error or answer.status_code in _AGAIN:
            raise Unavailable(f"the server said {answer.status_code}: {said}")
        if len(events) == 1:
            log.error("the server refuses event %s for good: %s", events[0].id, said)
        return False
