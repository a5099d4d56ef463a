"""Commands run in a container: begun, waited for, and ended with all that they started.

Docker cannot end a command. So each carries a mark in its environment, which its children inherit,
and those that carry it are ended from inside; where that cannot be done, as in an image without a
shell or one whose processes are all in use, the container is started anew instead.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Mapping, Sequence

from windlass.drivers.env.docker import DockerApi, Refused, path_of
from windlass.drivers.env.streams import Output
from windlass.ports.env import Executed, OnOutput, PlaceGone, RuntimeAway

_MARK = "WINDLASS_COMMAND"
_END_S = 10.0
_PAUSES_S = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The runtime notices a moment late that a command has ended."""
# Twice, for what is begun while the first round goes on.
_END = f"""
for round in 1 2; do
  for process in /proc/[0-9]*; do
    if grep -qa "{_MARK}=$1" "$process/environ" 2>/dev/null; then
      kill -9 "${{process#/proc/}}" 2>/dev/null
    fi
  done
done
"""


class Commands:
    def __init__(self, api: DockerApi) -> None:
        self._api = api

    async def begin(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        workdir: str = "",
        env: Mapping[str, str] | None = None,
    ) -> "Command":
        mark = secrets.token_hex(8)
        variables = [f"{key}={value}" for key, value in (env or {}).items()]
        body: dict[str, object] = {
            "Cmd": list(command),
            "Env": [*variables, f"{_MARK}={mark}"],
            "AttachStdin": bool(stdin),
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": False,
        }
        if workdir:
            body["WorkingDir"] = workdir
        made = await self._api.call("POST", path_of("containers", name, "exec"), json=body)
        exec_id = str(made.json()["Id"])
        start = {"Detach": False, "Tty": False}
        reader, writer = await self._api.hijack(path_of("exec", exec_id, "start"), start)
        return Command(self._api, name, exec_id, mark, reader, writer, stdin)


class Command:
    """One that runs."""

    def __init__(
        self,
        api: DockerApi,
        name: str,
        exec_id: str,
        mark: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        stdin: bytes,
    ) -> None:
        self._api = api
        self._name = name
        self._id = exec_id
        self._mark = mark
        self._reader = reader
        self._writer = writer
        self._stdin = stdin

    async def wait(self, timeout_s: float, on_output: OnOutput | None = None) -> Executed:
        """Its end; out of time, or if nobody waits or listens any longer, it is ended."""
        said = Output()
        late = False
        try:
            async with asyncio.timeout(timeout_s):
                await self._feed(said, on_output)
        except TimeoutError:
            late = True
            await self.end()
        except BaseException:
            await asyncio.shield(self.end())
            raise
        finally:
            self._writer.close()
        code = 137 if late else await self._code()
        return Executed(
            code=code, out=bytes(said.out), err=bytes(said.err), cut=said.cut, timed_out=late
        )

    async def end(self) -> None:
        """End it and all it started, whatever it takes."""
        # The runtime does not see the end of a command whose last words nobody reads.
        self._writer.close()
        with contextlib.suppress(Refused, RuntimeAway, TimeoutError, ConnectionError):
            async with asyncio.timeout(_END_S):
                await self._end_marked()
                for pause_s in _PAUSES_S:
                    await asyncio.sleep(pause_s)
                    if not await self._runs():
                        return
        with contextlib.suppress(Refused, RuntimeAway):
            await restart(self._api, self._name)

    async def _feed(self, said: Output, on_output: OnOutput | None) -> None:
        writing = asyncio.ensure_future(self._write())
        try:
            await said.read(self._reader, on_output)
        finally:
            # A command that ends early never reads the rest.
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def _write(self) -> None:
        if not self._stdin:
            return
        with contextlib.suppress(ConnectionError):
            self._writer.write(self._stdin)
            await self._writer.drain()
            self._writer.write_eof()

    async def _code(self) -> int:
        for pause_s in _PAUSES_S:
            await asyncio.sleep(pause_s)
            try:
                seen = await self._api.get(path_of("exec", self._id, "json"))
            except Refused as refused:
                raise PlaceGone(f"{self._name} ended while it ran a command") from refused
            if not seen["Running"] and seen["ExitCode"] is not None:
                return int(seen["ExitCode"])
        raise PlaceGone(f"{self._name} does not say how a command of it ended")

    async def _runs(self) -> bool:
        try:
            return bool((await self._api.get(path_of("exec", self._id, "json")))["Running"])
        except Refused:
            return False

    async def _end_marked(self) -> None:
        body = {"Cmd": ["/bin/sh", "-c", _END, "sh", self._mark], "AttachStdout": True}
        made = await self._api.call("POST", path_of("containers", self._name, "exec"), json=body)
        start = {"Detach": False, "Tty": False}
        path = path_of("exec", str(made.json()["Id"]), "start")
        reader, writer = await self._api.hijack(path, start)
        try:
            await reader.read()
        finally:
            writer.close()


async def restart(api: DockerApi, name: str) -> None:
    """End everything in a container at once and start it again; its files stay."""
    await api.call("POST", path_of("containers", name, "restart"), params={"t": "0"})
