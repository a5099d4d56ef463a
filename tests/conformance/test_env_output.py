"""What a command says reaches whoever ran it while it runs, whatever drives the place."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.conformance import runtimes
from tests.conformance.runtimes import Runtime
from windlass.drivers.env.exchange import UNHEARD_BYTES_MAX
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.ports.env import OUTPUT_BYTES_MAX, PIECE_BYTES_MAX, EnvBackend, StalePlace

pytestmark = pytest.mark.anyio
_KINDS = ["noop", "noop-behind-a-host", "container", "container-behind-a-host"]
_TIMES = "echo one; sleep 0.6; echo two; cat missing"


@pytest.fixture(params=_KINDS)
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    kind: str = request.param
    if kind.startswith("container"):
        found = runtimes.container(request.getfixturevalue("podman_server"), tmp_path)
    else:
        found = runtimes.noop(PretendedPlaces())
    connected = runtimes.Connected()
    if kind.endswith("behind-a-host"):
        found = runtimes.behind_a_host(found, connected)
    yield found
    last = found.open()
    for place in await last.list():
        await last.release(place.name)
    for backend in found.opened:
        await backend.close()
    await connected.end()


@pytest.fixture
async def env(runtime: Runtime) -> EnvBackend:
    env = runtime.open()
    await env.allocate(runtime.spec("a"))
    return env


@pytest.fixture
def real(runtime: Runtime) -> None:
    if "image" not in runtime.config:
        pytest.skip("its commands are only pretended")


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes, float]] = []
        self.began = time.monotonic()
        self.often = asyncio.Event()
        """It has heard something three times."""

    async def __call__(self, stream: str, data: bytes) -> None:
        assert 0 < len(data) <= PIECE_BYTES_MAX
        self.heard.append((stream, data, time.monotonic() - self.began))
        if len(self.heard) == 3:
            self.often.set()

    def said(self, stream: str) -> bytes:
        return b"".join(data for name, data, _ in self.heard if name == stream)


async def test_output_is_heard_while_the_command_runs(env: EnvBackend) -> None:
    listener = Listener()
    done = await env.execute("a", 1, ["sh", "-c", _TIMES], on_output=listener)
    assert (done.code, listener.said("out"), done.out) == (1, b"one\ntwo\n", b"one\ntwo\n")
    assert listener.said("err") == done.err
    assert b"No such file" in done.err
    first, second = (at for stream, _, at in listener.heard if stream == "out")
    assert second - first > 0.4, "the first line was held back"


async def test_all_is_heard_whatever_is_kept(env: EnvBackend) -> None:
    text = b"0123456789abcdef" * (OUTPUT_BYTES_MAX // 16) + b"the end"
    await env.write("a", 1, "large", text)
    listener = Listener()
    done = await env.execute("a", 1, ["cat", "large"], on_output=listener)
    assert done.cut
    assert listener.said("out") == text


async def test_whoever_cannot_listen_any_more_ends_the_command(env: EnvBackend) -> None:
    async def hang_up(stream: str, data: bytes) -> None:
        raise ConnectionResetError(stream)

    began = time.monotonic()
    with pytest.raises(ConnectionResetError):
        await env.execute("a", 1, ["sh", "-c", "echo one; sleep 60"], on_output=hang_up)
    assert time.monotonic() - began < 10


async def test_a_listener_does_not_keep_a_command_beyond_its_time(env: EnvBackend) -> None:
    listener = Listener()
    began = time.monotonic()
    words = ["sh", "-c", "echo one; sleep 60"]
    done = await env.execute("a", 1, words, timeout_s=0.5, on_output=listener)
    assert (done.timed_out, listener.said("out")) == (True, b"one\n")
    assert time.monotonic() - began < 10


async def test_a_later_holder_ends_what_is_listened_to(env: EnvBackend) -> None:
    listener = Listener()
    words = ["sh", "-c", "echo one; sleep 0.1; echo two; sleep 0.1; echo three; sleep 60"]
    task = asyncio.create_task(env.execute("a", 1, words, on_output=listener))
    await listener.often.wait()
    await env.still("a", 2)
    async with asyncio.timeout(10):
        with pytest.raises(StalePlace):
            await task


@pytest.mark.usefixtures("real")
async def test_whoever_stops_waiting_ends_the_command(env: EnvBackend) -> None:
    listener = Listener()
    words = ["sh", "-c", "while true; do echo more | tee -a log; sleep 0.05; done"]
    task = asyncio.create_task(env.execute("a", 1, words, on_output=listener))
    await listener.often.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(1)  # behind a host, nobody waits for it to be over
    written = await env.read("a", 1, "log")
    await asyncio.sleep(0.5)
    assert await env.read("a", 1, "log") == written


@pytest.mark.usefixtures("real")
async def test_a_slow_listener_slows_the_command_and_fills_no_memory(env: EnvBackend) -> None:
    heard = 0

    async def dawdle(stream: str, data: bytes) -> None:
        nonlocal heard
        heard += len(data)
        await asyncio.sleep(0.02)

    process = psutil.Process()
    before = process.memory_info().rss
    done = await env.execute("a", 1, ["yes"], timeout_s=3, on_output=dawdle)
    grown = process.memory_info().rss - before
    assert done.timed_out
    assert heard > 10 * PIECE_BYTES_MAX
    assert grown < 16 * UNHEARD_BYTES_MAX, f"{grown >> 20} MiB more"
