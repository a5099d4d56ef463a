"""What handlers of packages ask of their environments: done here, as their worker's own calls are.

A host has neither the worker's token nor the attempt's: it asks, and the worker calls the server.
"""

import asyncio
from concurrent.futures import Executor
from functools import partial
from typing import Any

import msgspec

from windlass.model.errors import BadRequest, WindlassError
from windlass.worker.adapters.listening import Listening
from windlass.worker.envs import EXEC_S, Env, OnOutput, Ran
from windlass.worker.errors import PermanentError


class EnvAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One question; each operation reads the fields it needs."""

    command: list[str] | str = ""
    stdin: bytes = b""
    workdir: str = ""
    env: dict[str, str] = {}
    timeout_s: float = EXEC_S
    path: str = ""
    data: bytes = b""
    number: int = 0
    """Which command, of those that are listened to."""


class HostedEnv:
    """The environment of one call of a package's handler."""

    def __init__(self, env: Env, threads: Executor) -> None:
        self._env = env
        self._threads = threads
        self._commands: dict[int, Listening] = {}

    @property
    def told(self) -> dict[str, Any]:
        """What its handler may know of it."""
        env = self._env
        return {
            "session_id": env.session_id,
            "kind": env.kind,
            "resource_name": env.resource,
            "lease_epoch": env.epoch,
            "details": env.details,
        }

    async def answer(self, op: str, fields: dict[str, Any]) -> Any:
        """What came of a question; an error's text is told to the handler."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._do, op, fields)

    def _do(self, op: str, fields: dict[str, Any]) -> Any:
        try:
            asked = msgspec.convert(fields, EnvAsked)
            return msgspec.to_builtins(self._done(op, asked))
        except (WindlassError, PermanentError, msgspec.ValidationError) as error:
            raise LookupError(str(error)) from error

    def _done(self, op: str, asked: EnvAsked) -> Any:
        env = self._env
        match op:
            case "exec":
                return self._ran(asked)
            case "exec_begin":
                number = len(self._commands) + 1
                self._commands[number] = Listening(partial(self._ran, asked))
                return number
            case "exec_next" | "exec_end":
                return self._listened(op, asked.number)
            case "read":
                return env.read(asked.path)
            case "write":
                return env.write(asked.path, asked.data)
            case "snapshot":
                return env.snapshot()
            case "endpoint":
                return env.endpoint()
            case _:
                raise BadRequest(f'an environment does not know "{op:.40}"')

    def _ran(self, asked: EnvAsked, on_output: OnOutput | None = None) -> Ran:
        return self._env.exec(
            asked.command,
            stdin=asked.stdin,
            workdir=asked.workdir,
            env=asked.env,
            timeout_s=asked.timeout_s,
            on_output=on_output,
        )

    def _listened(self, op: str, number: int) -> Any:
        command = self._commands.get(number)
        if command is None:
            raise BadRequest(f"there is no command {number}")
        return command.next() if op == "exec_next" else command.end()
