"""What containers promise besides: what they may not do, what a digest sees, how they fail."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import runtimes
from tests.conformance.runtimes import Runtime
from windlass.drivers.env.container import ContainerBackend
from windlass.drivers.env.container_store import ContainerStore
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.layers import Layers
from windlass.ports.env import PlaceError, PlaceGone, RuntimeAway, Snapshot
from windlass.testing.loopback import free_port
from windlass.testing.podman import IMAGE, PodmanServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def runtime(podman_server: PodmanServer, tmp_path: Path) -> Runtime:
    return runtimes.container(podman_server, tmp_path)


@pytest.fixture
async def env(runtime: Runtime) -> AsyncIterator[ContainerBackend]:
    backend = runtime.open()
    assert isinstance(backend, ContainerBackend)
    yield backend
    for place in await backend.list():
        await backend.release(place.name)
    await backend.close()


async def said(env: ContainerBackend, script: str, epoch: int = 1) -> str:
    done = await env.execute("a", epoch, ["sh", "-c", script])
    return (done.out + done.err).decode()


async def test_a_container_has_no_network_and_nothing_of_its_host(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    assert (await said(env, "ls /sys/class/net")).split() == ["lo"]
    assert "unreachable" in await said(env, "nc -w 1 192.0.2.1 80")
    sockets = "find / -xdev -type s; ls /var/run/docker.sock /run/podman 2>&1 | grep -v No.such"
    assert await said(env, sockets) == ""
    devices = "ls /dev/mem /dev/kmsg /dev/sda /dev/vda 2>/dev/null"
    assert await said(env, devices) == ""


async def test_a_container_runs_as_nobody_without_any_power(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    assert (await said(env, "id -u; id -g")).split() == ["65534", "65534"]
    status = await said(env, "grep -E 'Cap|NoNew' /proc/1/status /proc/self/status")
    powers = [line.split("\t")[1] for line in status.splitlines() if "Cap" in line]
    assert set(powers) == {"0000000000000000"}
    assert status.count("NoNewPrivs:\t1") == 2
    assert "denied" in await said(env, "touch /etc/x")
    assert (await said(env, "pwd; echo $HOME; touch x && ls")).split() == ["/workspace"] * 2 + ["x"]


async def test_memory_and_processes_are_limited(runtime: Runtime, env: ContainerBackend) -> None:
    await env.allocate(runtime.spec("a", memory_mb=32, pids=16))
    assert "137" in await said(env, "tail /dev/zero; echo $?")
    forks = await said(env, "for i in $(seq 40); do sleep 5 & done; wait", 1)
    assert "fork" in forks or "unavailable" in forks.lower()
    assert await env.inspect("a") == "running"


async def test_a_resource_may_say_otherwise(runtime: Runtime, env: ContainerBackend) -> None:
    named = runtime.spec("a", user="root", env={"COLOUR": "red"}, workdir="/tmp")
    await env.allocate(named)
    assert (await said(env, "id -u; pwd; echo $COLOUR")).split() == ["0", "/tmp", "red"]
    await env.release("a")
    await env.allocate(runtime.spec("a", user="1234", command=["sh", "-c", "exec sleep 1000"]))
    await env.write("a", 1, "x", b"1")
    assert (await said(env, "id -u; stat -c %u /workspace x")).split() == ["1234"] * 3
    await env.release("a")
    with pytest.raises(PlaceError, match="stranger"):
        await env.allocate(runtime.spec("a", user="stranger"))


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime's storage is out of reach, as on another machine."""
    monkeypatch.setattr(Layers, "contents", lambda *_: None)


@pytest.fixture(params=["by-layers", "by-export"])
def both_ways(request: pytest.FixtureRequest) -> None:
    if request.param == "by-export":
        request.getfixturevalue("unreadable")


@pytest.mark.usefixtures("both_ways")
async def test_files_that_were_made_changed_moved_and_removed_are_named(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await said(env, "echo 1 > file; mkdir folder; echo 1 > folder/in; echo 1 > old; echo 1 > same")
    await env.snapshot("a", "before")
    await said(env, "chmod 600 file; rm -r folder; mv old /tmp/moved; echo 1 > same")
    await said(env, "touch -d 2001-01-01 same")
    await env.snapshot("a", "after")
    seen = await env.changes("a", "before", "after")
    assert seen.added == ["/tmp/moved"]
    assert seen.changed == ["/workspace/file"]
    assert seen.removed == ["/workspace/folder", "/workspace/folder/in", "/workspace/old"]
    assert seen.more == 0


@pytest.mark.usefixtures("both_ways")
async def test_a_digest_sees_every_kind_of_change_and_its_undoing(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await said(env, "echo 1 > file; mkdir folder; ln -s file link")
    before = (await env.snapshot("a", "x")).digest
    seen = {before}
    for change, undo in (
        ("echo 2 > file", "echo 1 > file"),
        ("chmod 600 file", "chmod 644 file"),
        ("mv file other", "mv other file"),
        ("mkdir -m 755 folder/empty", "rmdir folder/empty"),
        ("ln -sf folder link", "rm link; ln -s file link"),
        ("chmod 700 folder", "chmod 755 folder"),
        ("touch /tmp/new", "rm /tmp/new"),
    ):
        await said(env, change)
        changed = (await env.snapshot("a", "x")).digest
        assert changed not in seen, change
        seen.add(changed)
        await said(env, undo)
    await said(env, "touch -d 2001-01-01 file folder")
    assert (await env.snapshot("a", "x")).digest == before


_CHANGES = (
    "echo more >> motd",
    "rm /bin/ls",
    "chmod 600 motd",
    "chmod 2751 /etc",
    "chmod 711 /bin; mkdir -p home/sub; echo old > home/sub/y",
    "rm -rf home; mkdir home; echo new > home/x",
    "mv home root2",
    "rm -rf root2; echo file > root2",
    "rm root2; mkdir root2; touch root2/.wh.name",
    "ln motd motd2",
    "echo changed > motd2",
    "ln -s //odd//path link",
    "ln -sf /other link",
    "mkfifo pipe",
    "rm pipe; mkdir pipe",
    "mkdir -p deep/er/and; echo 1 > deep/er/and/x",
    "rm -rf deep/er; mkdir deep/er",
    "mv /bin/cat /bin/dog",
    "printf x > 'ümlaut and space'",
    "rm -rf deep root2; echo 1 > deep",
)


async def test_twenty_changes_are_seen_by_layers_as_by_reading_everything(
    runtime: Runtime, env: ContainerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a place was restored, so that its layers stand on those of a snapshot."""
    await env.allocate(runtime.spec("a", user="root"))

    async def read_whole() -> str:
        with monkeypatch.context() as patched:
            patched.setattr(Layers, "contents", lambda *_: None)
            return (await env.snapshot("a", "whole")).digest

    async def never(*_: object) -> dict[str, bytes]:
        raise AssertionError("all of it was read")

    seen: list[str] = []
    for number, change in enumerate(_CHANGES):
        assert await said(env, f"cd /etc; {change}") == ""
        with monkeypatch.context() as patched:
            patched.setattr(ContainerStore, "contents", never)
            kept = await env.snapshot("a", "x")
            assert (await env.snapshot("a", "again")).digest == kept.digest, "nothing changed"
        assert kept.digest not in seen, change
        assert kept.digest == await read_whole(), change
        seen.append(kept.digest)
        if number % 4 == 0:
            await env.restore(runtime.spec("a", user="root"), kept)
    assert len(seen) == 20


@pytest.mark.usefixtures("both_ways")
async def test_a_digest_sees_what_the_image_brought_along(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a", user="root"))
    before = (await env.snapshot("a", "x")).digest
    await said(env, "mv /etc/motd /etc/gone")
    assert (await env.snapshot("a", "x")).digest != before
    await said(env, "mv /etc/gone /etc/motd")
    assert (await env.snapshot("a", "x")).digest == before


async def test_a_command_is_ended_with_all_it_started_and_nothing_else(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    other = asyncio.create_task(env.execute("a", 1, ["sleep", "1.5"]))
    script = "(setsid sleep 61 &); sleep 62"
    late = await env.execute("a", 1, ["sh", "-c", script], timeout_s=0.4)
    assert late.timed_out
    assert (await other).code == 0
    waited = asyncio.create_task(env.execute("a", 1, ["sleep", "63"]))
    await asyncio.sleep(0.4)
    waited.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waited
    assert "sleep 6" not in await said(env, "ps")


async def test_still_ends_what_was_left_in_the_background(
    runtime: Runtime, env: ContainerBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await said(env, "env -i /bin/setsid /bin/sh -c 'while :; do echo x >> /workspace/x; done' &")
    later = runtime.open()
    await later.still("a", 2)
    size = len(await later.read("a", 2, "x"))
    await asyncio.sleep(0.2)
    assert len(await later.read("a", 2, "x")) == size > 0
    assert isinstance(later, ContainerBackend)
    began = await said(later, "sleep 1000 & echo $!", 2)
    await later.still("a", 2)
    assert began.strip() in await said(later, "ps | grep 'sleep 1000'", 2)
    await later.close()


class Crash(Exception):
    pass


async def crashes_at(step: str, doing: Coroutine[Any, Any, object]) -> None:
    async def crash(*_: object) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ContainerStore, step, crash)
        with pytest.raises(Crash):
            await doing


@pytest.mark.usefixtures("unreadable")
async def test_a_crash_between_two_steps_leaves_nothing_that_is_not_found(
    runtime: Runtime,
    env: ContainerBackend,
    podman_server: PodmanServer,
) -> None:
    await crashes_at("start", env.allocate(runtime.spec("a")))
    assert [place.name for place in await env.list()] == ["a"]
    assert await env.inspect("a") == "stopped"
    later = runtime.open()
    await later.allocate(runtime.spec("a"))
    await later.write("a", 1, "x", b"1")
    kept = await later.snapshot("a", "x")
    await crashes_at("remove", later.snapshot("a", "x"))
    assert [place.labels for place in await later.list()] == [runtimes.LABELS]
    await crashes_at("create", later.restore(runtime.spec("a"), kept))
    assert await later.inspect("a") == "gone"
    await later.restore(runtime.spec("a"), kept)
    assert await later.read("a", 1, "x") == b"1"
    await later.release("a")
    await later.close()
    assert podman_server.run("ps", "--all", "--quiet") == ""
    ours = ("--all", "--quiet", "--filter", "label=windlass.env/name")
    assert podman_server.run("images", *ours) == ""


async def test_places_come_and_go_beside_each_other(
    runtime: Runtime, env: ContainerBackend
) -> None:
    """While one's snapshots are removed, podman fails at times at what it is asked of others."""

    async def live(name: str) -> None:
        await env.allocate(runtime.spec(name))
        await env.snapshot(name, "before")
        await env.execute(name, 1, ["sh", "-c", "echo 1 > x"])
        await env.still(name, 2)
        await env.snapshot(name, "after")
        assert (await env.changes(name, "before", "after")).added == ["/workspace/x"]
        await env.release(name)

    async def live_often(name: str) -> None:
        for number in range(4):
            await live(f"{name}{number}")

    await asyncio.gather(*map(live_often, "abc"))
    assert await env.list() == []


async def test_a_container_that_is_none_of_ours_is_left_alone(
    runtime: Runtime, env: ContainerBackend, podman_server: PodmanServer
) -> None:
    podman_server.run("create", "--network", "none", "--name", "theirs", IMAGE, "true")
    with pytest.raises(PlaceError, match="none of ours"):
        await env.allocate(runtime.spec("theirs"))
    await env.release("theirs")
    assert await env.list() == []
    assert podman_server.run("ps", "--all", "--filter", "name=theirs", "--quiet")
    podman_server.run("rm", "theirs")


async def test_a_name_is_never_taken_for_the_beginning_of_an_id(
    runtime: Runtime, env: ContainerBackend, podman_server: PodmanServer
) -> None:
    await env.allocate(runtime.spec("whole-name"))
    begin = podman_server.run("inspect", "--format", "{{.Id}}", "whole-name")[:6]
    assert await env.inspect(begin) == "gone"
    with pytest.raises(PlaceGone):
        await env.write(begin, 1, "x", b"strayed")
    await env.allocate(runtime.spec(begin))
    await env.release(begin)
    assert await env.inspect("whole-name") == "running"


async def test_the_image_is_pinned_and_told(
    runtime: Runtime, env: ContainerBackend, podman_server: PodmanServer
) -> None:
    place = await env.allocate(runtime.spec("a"))
    assert place.details["image"] == IMAGE
    assert place.details["image_digest"].startswith("sha256:")
    kept = await env.snapshot("a", "x")
    assert (await env.restore(runtime.spec("a"), kept)).details == place.details
    pinned = podman_server.run("image", "inspect", "--format", "{{.Digest}}", IMAGE)
    assert pinned == place.details["image_digest"]


async def test_a_snapshot_is_no_image_for_another_place(
    runtime: Runtime, env: ContainerBackend, podman_server: PodmanServer
) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "secret", b"secret")
    kept = await env.snapshot("a", "before")
    found = podman_server.run("image", "inspect", "--format", "{{.Id}}", kept.ref)
    podman_server.run("tag", kept.ref, "localhost/harmless:1")
    for image in (kept.ref, found, found[:8], "localhost/harmless:1"):
        with pytest.raises(PlaceError, match="is a snapshot"):
            await env.allocate(runtime.spec("b", image=image, pull="never"))
    assert await env.inspect("b") == "gone"
    with pytest.raises(PlaceGone):
        await env.restore(runtime.spec("b"), Snapshot(ref=IMAGE, digest=""))


async def test_a_container_whose_command_ends_at_once_says_what_it_said(
    runtime: Runtime, env: ContainerBackend
) -> None:
    command = ["sh", "-c", "echo no such luck >&2; exit 3"]
    with pytest.raises(PlaceError, match=r"code 3.*no such luck"):
        await env.allocate(runtime.spec("a", command=command))
    assert await env.inspect("a") == "stopped"


async def test_errors_are_passed_on_in_their_own_words(
    runtime: Runtime, env: ContainerBackend
) -> None:
    closed = f"127.0.0.1:{free_port()}/none:1"
    with pytest.raises(PlaceError, match="connection refused"):
        await env.allocate(runtime.spec("a", image=closed))
    with pytest.raises(PlaceError, match='"pull" is "never"'):
        await env.allocate(runtime.spec("a", image="localhost/none:1", pull="never"))
    with pytest.raises(PlaceError, match="no-such-program"):
        await env.allocate(runtime.spec("a", command=["no-such-program"]))
    assert await env.inspect("a") != "running"


async def test_a_runtime_that_is_not_there_is_away(runtime: Runtime, tmp_path: Path) -> None:
    for url in (f"unix://{tmp_path}/none.sock", f"tcp://127.0.0.1:{free_port()}"):
        env = ContainerBackend(DockerApi(url), tmp_path)
        for asked in (env.capabilities(), env.allocate(runtime.spec("a")), env.list()):
            with pytest.raises(RuntimeAway, match=url):
                await asked
        with pytest.raises(RuntimeAway):
            await env.release("a")
        await env.close()
    with pytest.raises(ValueError, match="give unix:///path or tcp://host:port"):
        DockerApi("/var/run/docker.sock")
