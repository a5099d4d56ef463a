"""Server-sent events for as long as the caller may read them.

A token that is revoked, a user who is disabled or demoted and a session that ends take their open
streams with them: each stream asks again every so often, past what is remembered of the answer.
"""

from collections.abc import AsyncGenerator

import anyio
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Send

from windlass.model.errors import Denied, Unauthorized, Unavailable
from windlass.server.auth import STALE_MS, check_again

_CHECK_S = STALE_MS / 1000
_LAST_WORD_S = 0.5


class EventStream(StreamingResponse):
    """An answer that is written while it goes on."""

    def __init__(self, request: Request, messages: AsyncGenerator[bytes]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(messages, media_type="text/event-stream", headers=headers)
        self._request = request
        self._messages = messages

    async def stream_response(self, send: Send) -> None:
        whole = False
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_when_refused, group.cancel_scope)
                await super().stream_response(send)
                whole = True
                group.cancel_scope.cancel()
        finally:
            # Also when the reader has gone: what was begun for it is to end now.
            with anyio.CancelScope(shield=True):
                await self._messages.aclose()
        if not whole:
            # A reader that takes nothing any more is not waited for; its connection is cut.
            with anyio.move_on_after(_LAST_WORD_S):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _end_when_refused(self, stream: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(_CHECK_S)
            try:
                await check_again(self._request)
            except (Unauthorized, Denied):
                stream.cancel()
                return
            except Unavailable:
                continue  # nobody can say, and it was good a moment ago
