"""One host process: started, spoken to, and ended with everything it started."""

import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.packages.errors import FAILED, PackageError
from windlass.worker.adapters import host
from windlass.worker.adapters.host.frames import TooLarge, Unpacker, framed
from windlass.worker.adapters.messages import Done, FromHost, HandlerError, Open, Ready, ToHost
from windlass.worker.adapters.registry import RunnablePackage
from windlass.worker.adapters.settings import HostSettings, clean_environment

log = logging.getLogger(__name__)

START = Path(host.__file__).with_name("start.py")

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(FromHost)
_END = re.compile(rb'\{"t":"done","id":(\d+),')
"""How hosts begin the message that ends a call."""


def command_of(runnable: RunnablePackage) -> list[str]:
    """How a package's interpreter is started: without our environment, our folder, our packages."""
    isolated = [] if runnable.site or not _is_our_own(runnable) else ["-S"]
    return [str(runnable.interpreter), "-I", "-u", "-X", "utf8", *isolated, str(START)]


def _is_our_own(runnable: RunnablePackage) -> bool:
    """Whether a package has no environment of its own, and would see what is installed for us."""
    return not runnable.interpreter.is_relative_to(runnable.folder)


def _unreadable(body: bytes, error: Exception) -> Done | None:
    """The end of a call whose end we cannot read: it has ended all the same."""
    found = _END.match(body)
    if found is None:
        return None
    fault = HandlerError(code=codes.RUNNER_FAILURE, message=f"the outcome cannot be read: {error}")
    return Done(id=int(found[1]), status="FAILED", result=msgspec.Raw(b"{}"), error=fault)


class _Pipe(asyncio.Protocol):
    """Cuts what a host sends into messages."""

    def __init__(self, receive: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self.transport: asyncio.Transport | None = None
        self._receive = receive
        self._lost = lost
        self._unpacker = Unpacker()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for body in self._unpacker.feed(data):
                self._receive(body)
        except TooLarge as error:
            log.warning("a host is cut off: %s", error)
            assert self.transport is not None
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()


class HostProcess:
    """A running host. Belongs to one event loop."""

    def __init__(
        self,
        runnable: RunnablePackage,
        settings: HostSettings,
        receive: Callable[[FromHost], None],
        answer: Callable[[bytes], bytes],
        gone: Callable[[], None],
    ) -> None:
        self.runnable = runnable
        self.ended = asyncio.Event()
        self._settings = settings
        self._receive = receive
        self._answer = answer
        self._gone = gone
        self._ready = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._out: list[bytes] = []
        self._link = _Pipe(self._received, self._ended)
        self._ask = _Pipe(self._asked, lambda: None)
        self._process: asyncio.subprocess.Process | None = None
        self._life = -1
        self._reader: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def start(self, worker_id: str) -> None:
        """Start the process and open its package; PackageError if it does not come up."""
        ours, theirs = zip(socket.socketpair(), socket.socketpair(), strict=True)
        life_read, self._life = os.pipe()
        numbers = [theirs[0].fileno(), theirs[1].fileno(), life_read]
        names = ("--link", "--ask", "--life")
        options = [word for pair in zip(names, map(str, numbers), strict=True) for word in pair]
        home = self._settings.data_dir.absolute() / "hosts" / "-".join(self.runnable.key)
        home.mkdir(parents=True, exist_ok=True)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command_of(self.runnable),
                *options,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=clean_environment(self._settings.environment),
                cwd=home,
                pass_fds=numbers,
                start_new_session=True,  # a signal to end it reaches what it started, and only that
                limit=1 << 20,
            )
        except OSError as error:
            for sock in ours:
                sock.close()
            self._close_life()
            raise self._not_started(str(error)) from error
        finally:
            os.close(life_read)
            for sock in theirs:
                sock.close()
        await self._loop.create_unix_connection(lambda: self._link, sock=ours[0])
        await self._loop.create_unix_connection(lambda: self._ask, sock=ours[1])
        self._reader = self._loop.create_task(self._read_output())
        self._say_hello(worker_id)
        await self._until_ready()

    def send(self, message: ToHost) -> None:
        """Send a message; those of one turn of the loop go in one write."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(framed(_encoder.encode(message)))

    async def stop(self) -> None:
        """Let the host close what it holds, then end it and all it started."""
        self._flush()
        if self._link.transport is not None:
            self._link.transport.close()
        self._close_life()
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.stop_s):
                    await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End the host and all it started, now."""
        self._close_life()
        for pipe in (self._link, self._ask):
            if pipe.transport is not None:
                pipe.transport.abort()
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        if self._reader is not None:
            with contextlib.suppress(TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1.0):  # a grandchild may hold the pipe
                    await self._reader

    def _say_hello(self, worker_id: str) -> None:
        name, version = self.runnable.key
        entries: list[Any] = msgspec.to_builtins(self.runnable.manifest.handlers())
        self.send(
            Open(
                package=name,
                version=version,
                folder=str(self.runnable.folder),
                data_dir=str(self._settings.data_dir.absolute()),
                worker_id=worker_id,
                entries=entries,
            )
        )

    async def _until_ready(self) -> None:
        ready = self._loop.create_task(self._ready.wait())
        ended = self._loop.create_task(self.ended.wait())
        try:
            await asyncio.wait(
                (ready, ended),
                timeout=self._settings.start_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not self._ready.is_set() or self.ended.is_set():
                await self.kill()
                raise self._not_started(f"it ended with code {self.exit_code}")
        finally:
            ready.cancel()
            ended.cancel()

    def _not_started(self, reason: str) -> PackageError:
        name = "@".join(self.runnable.key)
        return PackageError(FAILED, f"the host of {name} does not start: {reason}")

    def _flush(self) -> None:
        out, self._out = self._out, []
        transport = self._link.transport
        if transport is not None and not transport.is_closing():
            transport.write(b"".join(out))

    def _received(self, body: bytes) -> None:
        try:
            message = _decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            log.warning("a host sent something unreadable: %s", error)
            message = _unreadable(body, error)
            if message is None:
                return
        if isinstance(message, Ready):
            self._ready.set()
        else:
            self._receive(message)

    def _asked(self, body: bytes) -> None:
        answer = self._answer(body)
        if self._ask.transport is not None:
            self._ask.transport.write(framed(answer))

    def _ended(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            self._close_life()
            self._gone()

    def _close_life(self) -> None:
        if self._life >= 0:
            os.close(self._life)
            self._life = -1

    async def _read_output(self) -> None:
        """What the host writes that belongs to no call goes to our log."""
        assert self._process is not None
        assert self._process.stdout is not None
        name = "@".join(self.runnable.key)
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                continue  # a line beyond any reason; the rest of it follows
            if not line:
                return
            log.info("%s: %s", name, line.decode(errors="replace").rstrip()[:2000])
