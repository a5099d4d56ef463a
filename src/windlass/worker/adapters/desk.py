"""What handlers of packages tell the server: said here, as their worker's own attempts do.

A host has neither the worker's token nor the attempt's: it asks, and the worker calls the server.
"""

import asyncio
from concurrent.futures import Executor
from typing import Any

import msgspec

from windlass.client.board import Blackboard, BoardValue
from windlass.model.errors import BadRequest, WindlassError
from windlass.protocol.exchange import ActionEnd, ActionStart
from windlass.worker.desk import Desk


class DeskAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One question; each operation reads the fields it needs."""

    call_id: str = ""
    tool: str = ""
    effect: str = ""
    input: Any = None
    summary: str = ""
    approval: str = ""
    state: str = ""
    output: Any = None
    error: str = ""
    key: str = ""
    value: Any = None
    expected: int | None = None
    revision: int = 0


class HostedDesk:
    """The desk of one call of a package's handler."""

    def __init__(self, desk: Desk, attempt_id: str, token: str, threads: Executor) -> None:
        self._desk = desk
        self._attempt_id = attempt_id
        self._token = token
        self._threads = threads
        self._board = Blackboard(desk, attempt_id, attempt_id.rpartition("@")[0], token)

    async def answer(self, op: str, fields: dict[str, Any]) -> Any:
        """What came of a question; an error's text is told to the handler."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._do, op, fields)

    def _do(self, op: str, fields: dict[str, Any]) -> Any:
        try:
            return self._done(op, msgspec.convert(fields, DeskAsked))
        except (WindlassError, msgspec.ValidationError) as error:
            raise LookupError(str(error)) from error

    def _done(self, op: str, asked: DeskAsked) -> Any:
        match op:
            case "begin":
                return self._desk.begin(self._start(asked))
            case "end":
                return self._desk.end(self._end(asked))
            case "put":
                return self._board.put(asked.key, asked.value, asked.expected)
            case "delete":
                return self._board.delete(asked.key, asked.expected)
            case "get":
                found = self._board.get(asked.key, asked.revision)
                return None if found is None else _shown(found)
            case "list":
                return [_shown(entry) for entry in self._board.list(asked.key)]
            case _:
                raise BadRequest(f'a desk does not know "{op:.40}"')

    def _start(self, asked: DeskAsked) -> ActionStart:
        return ActionStart(
            attempt_id=self._attempt_id,
            token=self._token,
            call_id=asked.call_id,
            tool=asked.tool,
            effect=asked.effect,
            input=asked.input,
            summary=asked.summary,
            approval_token=asked.approval,
        )

    def _end(self, asked: DeskAsked) -> ActionEnd:
        return ActionEnd(
            attempt_id=self._attempt_id,
            token=self._token,
            call_id=asked.call_id,
            state=asked.state,
            output=asked.output,
            error=asked.error,
            summary=asked.summary,
        )


def _shown(entry: BoardValue) -> dict[str, Any]:
    return {
        "key": entry.key,
        "revision": entry.revision,
        "writer": entry.writer,
        "value": entry.value,
    }
