"""How long a snapshot of a container takes on a large image: by its layers, and by reading it all.

python -m tests.chaos.env_digest --files 20000 --mib 1024
"""

import asyncio
import io
import os
import statistics
import tarfile
import tempfile
import time
from pathlib import Path
from unittest import mock

import click

from windlass.drivers.env.container import ContainerBackend
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.layers import Layers
from windlass.ports.env import PlaceSpec
from windlass.testing.podman import IMAGE, PodmanServer, podman

LARGE = "localhost/windlass-test/large:1"


def large_image(server: PodmanServer, files: int, mib: int) -> None:
    """The test image with that many files of random content on top."""
    size = max(1, (mib << 20) // files)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number in range(files):
            entry = tarfile.TarInfo(f"data/{number % 97}/{number}")
            entry.size = size
            archive.addfile(entry, io.BytesIO(os.urandom(size)))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data.tar").write_bytes(packed.getvalue())
        Path(folder, "Dockerfile").write_text(f"FROM {IMAGE}\nADD data.tar /opt/\n")
        server.run("build", "--isolation", "chroot", "--tag", LARGE, folder)


async def times(url: str, state: Path, rounds: int) -> list[float]:
    """Seconds for each of some snapshots, with a file changed before each."""
    env = ContainerBackend(DockerApi(url), state)
    found: list[float] = []
    try:
        await env.allocate(PlaceSpec(name="a", config={"image": LARGE, "pull": "never"}, labels={}))
        for number in range(rounds):
            await env.write("a", 1, "changed", str(number).encode())
            began = time.monotonic()
            await env.snapshot("a", "x")
            found.append(time.monotonic() - began)
        await env.release("a")
    finally:
        await env.close()
    return found


@click.command()
@click.option("--files", default=20_000, show_default=True)
@click.option("--mib", default=1024, show_default=True)
@click.option("--rounds", default=6, show_default=True)
def main(files: int, mib: int, rounds: int) -> None:
    with podman() as server, tempfile.TemporaryDirectory() as folder:
        large_image(server, files, mib)
        by_layers = asyncio.run(times(server.url, Path(folder, "layers"), rounds))
        with mock.patch.object(Layers, "contents", return_value=None):
            whole = asyncio.run(times(server.url, Path(folder, "whole"), rounds))
    for name, found in (("reading it all", whole), ("by its layers", by_layers)):
        first, *later = found
        median = statistics.median(later)
        click.echo(f"{name}: the first {first:.2f} s, then {median:.2f} s (up to {max(later):.2f})")


if __name__ == "__main__":
    main()
