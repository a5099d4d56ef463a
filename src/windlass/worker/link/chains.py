"""Chains: a middleware calls for what comes after it and waits until the server has had it done."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec

from windlass.model.values import is_object
from windlass.protocol.link import messages as m
from windlass.worker.link.executor import Next
from windlass.worker.link.fit import flaw
from windlass.worker.link.tasks import Running

Ask = Callable[[m.NextRequest, str], object]
"""Sends a request for a task, if there is anybody to hear it."""


class NextFailed(Exception):
    """What a middleware called for did not succeed."""


class Chains:
    """The calls that wait for their answer. Belongs to one event loop."""

    def __init__(self, ask: Ask, random_: random.Random) -> None:
        self._ask = ask
        self._random = random_
        self._calls: dict[str, tuple[m.NextRequest, str, asyncio.Future[m.NextResponse]]] = {}

    def next_of(self, running: Running) -> Next:
        """What a task's handler calls to go on with its chain."""

        async def go_on(given: dict[str, Any]) -> dict[str, Any]:
            return await self._call(running, self._request(running.dispatch, given))

        return go_on

    def ask_again(self) -> None:
        """A call is answered however often it is made."""
        for request, task_id, _ in list(self._calls.values()):
            self._ask(request, task_id)

    def answered(self, response: m.NextResponse) -> None:
        call = self._calls.get(response.request_id)
        if call is not None and not call[2].done():
            call[2].set_result(response)

    def _request(self, dispatch: m.Dispatch, given: dict[str, Any]) -> m.NextRequest:
        index = dispatch.chain_index or 0
        chain = dispatch.middleware_chain or []
        fields = {
            "requestId": f"{self._random.getrandbits(128):032x}",
            "runId": dispatch.run_id,
            "nodeId": dispatch.host_node_id or dispatch.node_id,
            "middlewareId": chain[index] if index < len(chain) else dispatch.node_id,
            "chainIndex": index,
            "hostCtx": given.get("host_ctx") or None,
            "middlewareCtx": given.get("middleware_ctx") or None,
            "payload": given.get("payload") or None,
            "timeoutMs": given.get("timeout_ms"),
        }
        try:
            request = msgspec.convert(fields, m.NextRequest)
        except msgspec.ValidationError as error:
            raise NextFailed(f"next_failed: the call cannot be sent: {error}") from error
        why = flaw(request)
        if why:
            raise NextFailed(f"next_failed: the call cannot be sent: {why}")
        return request

    async def _call(self, running: Running, request: m.NextRequest) -> dict[str, Any]:
        """Wait for the rest of a chain; meanwhile the task takes no slot."""
        answer: asyncio.Future[m.NextResponse] = asyncio.get_running_loop().create_future()
        task_id = running.dispatch.task_id
        self._calls[request.request_id] = (request, task_id, answer)
        self._ask(request, task_id)
        running.parked += 1
        try:
            response = await answer
        finally:
            running.parked -= 1
            self._calls.pop(request.request_id, None)
        if response.error is not None:
            raise NextFailed(f"{response.error.code}: {response.error.message}")
        found: Any = msgspec.json.decode(response.result) if response.result is not None else {}
        return found if is_object(found) else {"value": found}
