"""What every driver of environments promises, on each of them."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance import runtimes
from tests.conformance.runtimes import Runtime
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.ports.env import (
    FILES_TOLD_MAX,
    OUTPUT_BYTES_MAX,
    EnvBackend,
    FileChanges,
    NoSuchFile,
    PlaceError,
    PlaceGone,
    StalePlace,
)

pytestmark = pytest.mark.anyio
CHANGES = 20


@pytest.fixture(params=["noop", "noop-in-a-folder", "noop-behind-a-host", "container", "browser"])
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    if request.param == "container":
        found = runtimes.container(request.getfixturevalue("podman_server"), tmp_path)
    elif request.param == "browser":
        found = runtimes.browser(request.getfixturevalue("chromium"), tmp_path)
    else:
        folder = tmp_path if request.param == "noop-in-a-folder" else None
        found = runtimes.noop(PretendedPlaces(folder))
    connected = runtimes.Connected()
    if request.param == "noop-behind-a-host":
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
    return runtime.open()


@pytest.fixture
def shell(runtime: Runtime) -> None:
    if not runtime.shell:
        pytest.skip("its places run no commands")


async def test_who_asks_twice_gets_the_same_place(runtime: Runtime, env: EnvBackend) -> None:
    first = await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "kept", b"here")
    assert await env.allocate(runtime.spec("a")) == first
    assert await runtime.open().allocate(runtime.spec("a")) == first
    assert await env.read("a", 1, "kept") == b"here"
    assert first.name == "a"
    assert first.labels == runtimes.LABELS
    assert await env.inspect("a") == "running"


async def test_two_who_ask_at_once_get_one_place(runtime: Runtime, env: EnvBackend) -> None:
    others = [env, runtime.open(), runtime.open()]
    places = await asyncio.gather(*(each.allocate(runtime.spec("a")) for each in others))
    assert places[0] == places[1] == places[2]
    assert len(await env.list()) == 1


async def test_a_released_place_is_gone_and_may_be_released_again(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    kept = await env.snapshot("a", "before")
    await env.release("a")
    await env.release("a")
    await env.release("never-was")
    assert await env.inspect("a") == "gone"
    assert await env.list() == []
    with pytest.raises(PlaceGone):
        await env.read("a", 1, "x")
    with pytest.raises(PlaceGone):
        await env.restore(runtime.spec("a"), kept)


async def test_what_another_process_made_is_found(runtime: Runtime, env: EnvBackend) -> None:
    made = [await env.allocate(runtime.spec(name)) for name in ("a", "b")]
    await env.close()
    later = runtime.open()
    assert await later.list() == made
    assert await later.inspect("a") == "running"
    await later.release("a")
    assert [place.name for place in await later.list()] == ["b"]


async def test_a_place_that_is_gone_but_for_its_snapshots_is_listed(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await env.snapshot("a", "before")
    runtime.remove("a")
    assert await env.inspect("a") == "gone"
    assert [(place.name, place.labels) for place in await env.list()] == [("a", runtimes.LABELS)]


async def test_files_are_written_and_read_whole(runtime: Runtime, env: EnvBackend) -> None:
    await env.allocate(runtime.spec("a"))
    content = bytes(range(256)) * 1_000
    for path in ("x", "deep/er/x", "with space", "deep/er/y", "ümlaut"):
        await env.write("a", 1, path, content)
        assert await env.read("a", 1, path) == content
    await env.write("a", 1, "x", b"")
    assert await env.read("a", 1, "x") == b""
    with pytest.raises(NoSuchFile):
        await env.read("a", 1, "nothing")
    for path in ("", "a\0b"):
        with pytest.raises(PlaceError):
            await env.read("a", 1, path)


async def test_a_place_nobody_made_is_gone(env: EnvBackend) -> None:
    for name in ("unknown", "a"):
        with pytest.raises(PlaceGone):
            await env.read(name, 1, "x")
        with pytest.raises(PlaceGone):
            await env.snapshot(name, "x")
    with pytest.raises(PlaceError):
        await env.inspect("../a")


async def test_a_holder_whom_another_followed_is_refused_also_after_a_restart(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "x", b"first")
    await env.write("a", 3, "x", b"second")
    await env.close()
    later = runtime.open()
    for epoch in (1, 2):
        with pytest.raises(StalePlace):
            await later.write("a", epoch, "x", b"stale")
        with pytest.raises(StalePlace):
            await later.read("a", epoch, "x")
        with pytest.raises(StalePlace):
            await later.still("a", epoch)
        if runtime.shell:
            with pytest.raises(StalePlace):
                await later.execute("a", epoch, ["true"])
    assert await later.read("a", 3, "x") == b"second"


async def test_still_lets_no_earlier_holder_in_and_keeps_the_content(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "x", b"kept")
    await env.still("a", 2)
    await env.still("a", 2)
    with pytest.raises(StalePlace):
        await env.write("a", 1, "x", b"stale")
    assert await env.read("a", 2, "x") == b"kept"
    assert await env.inspect("a") == "running"


async def test_a_digest_changes_exactly_if_something_did(runtime: Runtime, env: EnvBackend) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "first", b"1")
    seen = {(await env.snapshot("a", "x")).digest}
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in seen)
    for number in range(CHANGES):
        await env.write("a", 1, "first", b"1")
        again = await env.snapshot("a", f"again-{number}")
        assert again.digest in seen, "nothing changed, the digest did"
        await env.write("a", 1, f"file-{number % 7}", f"planted {number}".encode())
        changed = await env.snapshot("a", "x")
        assert changed.digest not in seen, f"change {number} was not seen"
        seen = {changed.digest}


async def test_which_files_changed_between_two_snapshots_is_told(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    for path in ("stays", "grows", "later/gone"):
        await env.write("a", 1, path, b"1")
    await env.snapshot("a", "before")
    assert await env.changes("a", "before", "before") == FileChanges()
    await env.write("a", 1, "stays", b"1")
    await env.write("a", 1, "grows", b"12")
    await env.write("a", 1, "made/new \u00e9.txt", b"1")
    await env.snapshot("a", "after")
    seen = await env.changes("a", "before", "after")
    assert "/workspace/made/new \u00e9.txt" in seen.added
    # Some runtimes have folders, and tell of those as well.
    assert {*seen.added} <= {"/workspace/made", "/workspace/made/new \u00e9.txt"}
    assert (seen.changed, seen.removed, seen.more) == (["/workspace/grows"], [], 0)
    back = await env.changes("a", "after", "before")
    assert (back.added, back.changed, back.removed) == ([], seen.changed, seen.added)
    for missing in (("before", "never"), ("never", "after")):
        with pytest.raises(PlaceGone):
            await env.changes("a", *missing)
    with pytest.raises(PlaceGone):
        await env.changes("nobody", "before", "after")


async def test_of_many_changed_files_some_are_named_and_the_others_counted(
    runtime: Runtime, env: EnvBackend
) -> None:
    if env.kind == "container":
        pytest.skip("a file is a call to the runtime; what counts them is the same")
    await env.allocate(runtime.spec("a"))
    await env.snapshot("a", "before")
    for number in range(FILES_TOLD_MAX + 5):
        await env.write("a", 1, f"f{number:04}", b"1")
    await env.snapshot("a", "after")
    seen = await env.changes("a", "before", "after")
    assert seen.added == [f"/workspace/f{number:04}" for number in range(FILES_TOLD_MAX)]
    assert (seen.changed, seen.removed, seen.more) == ([], [], 5)


async def test_a_snapshot_brings_back_what_was_killed_or_removed(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "deep/x", b"as it was")
    kept = await env.snapshot("a", "before")
    await env.write("a", 1, "deep/x", b"spoiled")
    await env.write("a", 1, "more", b"spoiled")
    for hurt in (runtime.stop, runtime.remove, lambda _: None):
        hurt("a")
        later = runtime.open()
        place = await later.restore(runtime.spec("a"), kept)
        assert (place.name, place.labels) == ("a", runtimes.LABELS)
        assert await later.read("a", 1, "deep/x") == b"as it was"
        with pytest.raises(NoSuchFile):
            await later.read("a", 1, "more")
        assert (await later.snapshot("a", "after")).digest == kept.digest
    with pytest.raises(PlaceGone):
        await env.restore(runtime.spec("a"), type(kept)(ref="a:none", digest=""))


async def test_a_place_that_was_restored_is_kept_again_under_the_same_label(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    for text in (b"first", b"second", b"third"):
        await env.write("a", 1, "x", text)
        kept = await env.snapshot("a", "checkpoint")
        assert await env.inspect("a") == "running"
        assert await env.read("a", 1, "x") == text
        runtime.remove("a")
        await env.restore(runtime.spec("a"), kept)
        assert await env.read("a", 1, "x") == text
    await env.release("a")
    assert await env.list() == []


async def test_the_epoch_outlives_what_the_place_does_not(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    kept = await env.snapshot("a", "before")
    await env.still("a", 5)
    runtime.remove("a")
    later = runtime.open()
    await later.restore(runtime.spec("a"), kept)
    with pytest.raises(StalePlace):
        await later.write("a", 4, "x", b"stale")


async def test_a_stopped_place_is_gone_until_it_is_asked_for_again(
    runtime: Runtime, env: EnvBackend
) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "x", b"kept")
    runtime.stop("a")
    assert await env.inspect("a") == "stopped"
    with pytest.raises(PlaceGone):
        await env.write("a", 1, "x", b"lost")
    await env.allocate(runtime.spec("a"))
    assert await env.inspect("a") == "running"
    assert await env.read("a", 1, "x") == b"kept"


async def test_a_config_that_will_not_do_is_refused_by_its_field(
    runtime: Runtime, env: EnvBackend
) -> None:
    assert env.check(runtime.config) == []
    for config, field in runtime.bad:
        problems = env.check(config)
        assert len(problems) == 1, config
        assert problems[0].startswith(f'config "{field}" is'), problems
        assert ":" in problems[0], "names no next move"


async def test_a_runtime_says_what_it_is(env: EnvBackend) -> None:
    told = await env.capabilities()
    assert told["runtime"]
    assert told["version"]


@pytest.mark.usefixtures("shell")
async def test_a_command_answers_with_what_it_said(runtime: Runtime, env: EnvBackend) -> None:
    await env.allocate(runtime.spec("a"))
    done = await env.execute("a", 1, ["echo", "hello", "you"])
    assert (done.code, done.out, done.err) == (0, b"hello you\n", b"")
    assert (await env.execute("a", 1, ["false"])).code == 1
    given = b"line\n" * 50_000
    done = await env.execute("a", 1, ["tee", "copy"], stdin=given)
    assert (done.code, done.out, done.cut) == (0, given, False)
    assert await env.read("a", 1, "copy") == given
    done = await env.execute("a", 1, ["cat", "missing"])
    assert done.code == 1
    assert b"No such file" in done.err
    assert done.out == b""
    done = await env.execute("a", 1, ["env"], env={"COLOUR": "red and blue"})
    assert b"COLOUR=red and blue\n" in done.out
    with pytest.raises(PlaceError):
        await env.execute("a", 1, [])
    done = await env.execute("a", 1, ["no-such-program"])
    assert done.code == 127


@pytest.mark.usefixtures("shell")
async def test_what_a_command_says_is_bounded(runtime: Runtime, env: EnvBackend) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "large", b"x" * (OUTPUT_BYTES_MAX + 5))
    done = await env.execute("a", 1, ["cat", "large"])
    assert done.cut
    assert len(done.out) == OUTPUT_BYTES_MAX
    assert done.code == 0


@pytest.mark.usefixtures("shell")
async def test_a_command_that_takes_too_long_is_ended(runtime: Runtime, env: EnvBackend) -> None:
    await env.allocate(runtime.spec("a"))
    began = time.monotonic()
    done = await env.execute("a", 1, ["sleep", "60"], timeout_s=0.3)
    assert done.timed_out
    assert done.code != 0
    assert time.monotonic() - began < 5


@pytest.mark.usefixtures("shell")
async def test_still_ends_what_earlier_holders_run(runtime: Runtime, env: EnvBackend) -> None:
    await env.allocate(runtime.spec("a"))
    await env.write("a", 1, "x", b"kept")
    running = asyncio.create_task(env.execute("a", 1, ["sleep", "60"]))
    await asyncio.sleep(0.5)
    await env.still("a", 2)
    async with asyncio.timeout(5):
        with pytest.raises(StalePlace):
            await running
    assert await env.read("a", 2, "x") == b"kept"
    assert (await env.execute("a", 2, ["cat", "x"])).out == b"kept"
