"""Images of a real runtime: built with their logs, refused in its own words, stopped in between."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance import runtimes
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.images import ContainerImages
from windlass.ports.env import PlaceError
from windlass.testing.loopback import free_port
from windlass.testing.podman import IMAGE, PodmanServer

pytestmark = pytest.mark.anyio
TAG = "localhost/windlass-test/made:1"


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.more = asyncio.Event()

    async def __call__(self, line: str) -> None:
        self.lines.append(line)
        self.more.set()


@pytest.fixture
async def images(podman_server: PodmanServer) -> AsyncIterator[ContainerImages]:
    found = ContainerImages(DockerApi(podman_server.url))
    yield found
    await found.close()


async def test_an_image_is_built_and_a_place_made_of_it(
    images: ContainerImages, podman_server: PodmanServer, tmp_path: Path
) -> None:
    log = Log()
    text = f"FROM {IMAGE}\nRUN echo from the build && echo made > /etc/made\n"
    digest = await images.build(text, TAG, log)
    assert digest.startswith("sha256:")
    assert "from the build" in log.lines
    assert any(line.startswith("STEP 1/2") for line in log.lines)
    runtime = runtimes.container(podman_server, tmp_path)
    env = runtime.open()
    place = await env.allocate(runtime.spec("a", image=TAG, pull="never"))
    assert place.details["image_digest"] == digest
    assert await env.read("a", 1, "/etc/made") == b"made\n"
    await env.release("a")
    await env.close()


async def test_a_build_that_fails_says_why(images: ContainerImages) -> None:
    log = Log()
    with pytest.raises(PlaceError, match="exit status 3"):
        await images.build(f"FROM {IMAGE}\nRUN echo last words; exit 3\n", TAG, log)
    assert "last words" in log.lines
    for text in ("", "FROM", "COOK dinner"):
        with pytest.raises(PlaceError):
            await images.build(text, TAG, log)
    with pytest.raises(PlaceError, match="cannot name an image"):
        await images.build(f"FROM {IMAGE}", "--privileged", log)


async def test_a_build_has_no_network_and_no_files_of_its_host(images: ContainerImages) -> None:
    log = Log()
    await images.build(
        f"FROM {IMAGE}\nRUN ls /sys/class/net; ls -d /tmp/windlass-* || true\n", TAG, log
    )
    assert "lo" in log.lines
    assert not any("eth" in line or line.startswith("/tmp/windlass") for line in log.lines)
    with pytest.raises(PlaceError):
        await images.build(f"FROM {IMAGE}\nCOPY /etc/hostname /x\n", TAG, log)


async def test_nothing_is_built_on_a_snapshot(
    images: ContainerImages, podman_server: PodmanServer, tmp_path: Path
) -> None:
    runtime = runtimes.container(podman_server, tmp_path)
    env = runtime.open()
    await env.allocate(runtime.spec("a"))
    kept = await env.snapshot("a", "before")
    podman_server.run("tag", kept.ref, "localhost/harmless:2")
    for image in (kept.ref, "localhost/harmless:2"):
        with pytest.raises(PlaceError, match="snapshot of a place"):
            await images.build(f"FROM {image}\n", "localhost/stolen:1", Log())
    await env.release("a")
    await env.close()
    assert "stolen" not in podman_server.run("images")


async def test_a_build_nobody_waits_for_is_given_up(images: ContainerImages) -> None:
    log = Log()
    began = time.monotonic()
    building = asyncio.create_task(
        images.build(f"FROM {IMAGE}\nRUN echo begun; sleep 60\n", TAG, log)
    )
    async with asyncio.timeout(20):
        while "begun" not in log.lines:
            log.more.clear()
            await log.more.wait()
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    with pytest.raises(PlaceError, match=r"longer than 0\.5 s"):
        await images.build(f"FROM {IMAGE}\nRUN sleep 60\n", TAG, log, timeout_s=0.5)
    assert time.monotonic() - began < 30
    assert (await images.capabilities())["dockerfile_build"]


async def test_a_registry_that_cannot_be_reached_gives_its_own_error(
    images: ContainerImages,
) -> None:
    with pytest.raises(PlaceError, match="connection refused"):
        await images.pull(f"127.0.0.1:{free_port()}/none:1")


async def test_a_runtime_that_is_away_says_so_in_its_capabilities(images: ContainerImages) -> None:
    assert await images.capabilities() == {"dockerfile_build": True, "reason": ""}
    away = ContainerImages(DockerApi(f"tcp://127.0.0.1:{free_port()}"))
    told = await away.capabilities()
    assert told["dockerfile_build"] is False
    assert "tcp://127.0.0.1" in told["reason"]
    await away.close()
