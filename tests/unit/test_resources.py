"""Resources: leased ones stay, others go when they expire or take too much room."""

import os
from pathlib import Path

import pytest

from windlass.worker.adapters.host.places import run_dir, safe_part, task_dir
from windlass.worker.resources.handles import Backend, Handle, State
from windlass.worker.resources.registry import ResourceMissing, Resources
from windlass.worker.resources.settings import ResourceSettings, resource_settings


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(folder: Path, clock: Clock, **settings: int) -> Resources:
    found = ResourceSettings(data_dir=folder, worker_id="w", ttl_s=100, **settings)
    return Resources(found, clock)


def file_of(folder: Path, name: str, size: int = 10) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def test_what_outlives_its_run_stays_wherever_the_data_folder_really_is(
    tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    resources = opened(tmp_path / "data", clock)
    handle = resources.keep_result("r", "t", b"{}")
    resources.outlive(handle.resource_id)
    resources.release_scope("r")
    assert Path(handle.path or "").is_file()


def test_whatever_has_no_scope_is_not_a_scope(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    handle = resources.keep_result("r", "t", b"{}")
    resources.outlive(handle.resource_id)
    assert resources.release_scope("") == 0
    assert resources.get(handle.resource_id) is handle


def test_a_file_is_known_by_its_place_and_size(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    handle = resources.register_file("a", file_of(tmp_path, "runs/r/a.txt"), scope="r")
    assert (handle.type, handle.size_bytes, handle.worker_id) == ("file", 10, "w")
    assert handle.metadata["relative_path"] == "runs/r/a.txt"
    assert handle.ref() == {"resourceId": "a", "workerId": "w", "type": "file", "scope": "r"}
    assert handle.artifact(inline=False)["size_bytes"] == 10
    resources.close()


def test_a_file_that_is_not_there_cannot_be_registered(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    with pytest.raises(ResourceMissing, match="write it before"):
        resources.register_file("a", tmp_path / "no.txt")
    resources.close()


def test_an_idle_resource_expires_and_a_leased_one_does_not(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    path = file_of(tmp_path, "a.txt")
    resources.register_file("a", path)
    resources.register_file("b", file_of(tmp_path, "b.txt"))
    resources.lease("b")
    clock.now += 101
    assert resources.gc() == ["a"]
    assert not path.exists()
    with pytest.raises(ResourceMissing, match="was evicted"):
        resources.lease("a")
    resources.release("b")
    assert resources.gc() == []  # it was of use until just now
    clock.now += 101
    assert resources.gc() == ["b"]
    resources.close()


def test_use_and_touch_push_the_end(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    resources.register("a", "session")
    clock.now += 90
    resources.touch("a")
    clock.now += 90
    assert resources.gc() == []
    resources.touch("a", clock.now + 5)
    clock.now += 6
    assert resources.gc() == ["a"]
    resources.close()


def test_the_least_recently_used_goes_first_when_disk_is_short(
    tmp_path: Path, clock: Clock
) -> None:
    resources = opened(tmp_path, clock, disk_bytes_max=1000)
    for name in ("a", "b", "c"):
        clock.now += 1
        resources.register_file(name, file_of(tmp_path, name, 300))
    clock.now += 1
    resources.touch("a")
    clock.now += 1
    resources.register_file("d", file_of(tmp_path, "d", 300))
    assert {handle.resource_id for handle in resources.list()} == {"a", "c", "d"}
    assert resources.stats().disk_bytes_in_use == 900
    resources.close()


def test_a_leased_file_is_never_evicted_for_room(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock, disk_bytes_max=500)
    resources.register_file("a", file_of(tmp_path, "a", 400))
    resources.lease("a")
    clock.now += 1
    resources.register_file("b", file_of(tmp_path, "b", 400))
    assert {handle.resource_id for handle in resources.list()} == {"a", "b"}
    clock.now += 1
    resources.register_file("c", file_of(tmp_path, "c", 10))
    assert {handle.resource_id for handle in resources.list()} == {"a", "c"}
    resources.close()


def test_objects_have_a_limit_of_their_own_and_their_host_is_told(
    tmp_path: Path, clock: Clock
) -> None:
    resources = opened(tmp_path, clock, mem_bytes_max=100)
    told: list[str] = []
    resources.on_evict = lambda handle: told.append(handle.resource_id)
    for name in ("a", "b"):
        clock.now += 1
        resources.register(name, "model", size_bytes=80, backend=Backend.OBJECT, owner="h")
    assert told == ["a"]
    assert resources.stats().mem_bytes_in_use == 80
    assert resources.stats().sessions_active == 1
    resources.close()


def test_a_scope_goes_as_a_whole_with_its_folder(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    folder = task_dir(tmp_path, "r", "t")
    resources.register_file("a", file_of(folder, "a.txt"), scope="r")
    resources.register_file("b", file_of(tmp_path, "b.txt"), scope="other")
    assert resources.release_scope("r") == 1
    assert not run_dir(tmp_path, "r").exists()
    assert [handle.resource_id for handle in resources.list()] == ["b"]
    resources.close()


def test_a_leased_resource_of_a_released_scope_goes_with_its_last_lease(
    tmp_path: Path, clock: Clock
) -> None:
    resources = opened(tmp_path, clock)
    path = file_of(task_dir(tmp_path, "r", "t"), "a.txt")
    resources.register_file("a", path, scope="r")
    resources.lease("a")
    resources.release_scope("r")
    assert path.exists()
    resources.release("a")
    assert not path.exists()
    resources.close()


def test_a_file_elsewhere_is_forgotten_and_not_deleted(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path / "data", clock)
    path = file_of(tmp_path, "theirs.txt")
    resources.register_file("a", path, scope="r")
    resources.release_scope("r")
    assert path.exists()
    resources.close()


def test_resources_survive_a_restart_as_far_as_they_are_there(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    kept, lost = file_of(tmp_path, "kept"), file_of(tmp_path, "lost")
    resources.register_file("kept", kept, scope="r", metadata={"a": 1})
    resources.register_file("lost", lost)
    resources.register("page", "browser_page", backend=Backend.OBJECT, owner="h")
    resources.lease("kept")
    resources.close()
    lost.unlink()
    resources = opened(tmp_path, clock)
    [handle] = resources.list()
    assert (handle.resource_id, handle.in_use, handle.scope) == ("kept", 0, "r")
    assert handle.metadata["a"] == 1
    for gone in ("lost", "page"):
        with pytest.raises(ResourceMissing, match="was evicted"):
            resources.lease(gone)
    resources.close()


def test_a_killed_worker_leaves_what_it_had_registered(tmp_path: Path, clock: Clock) -> None:
    first = opened(tmp_path, clock)
    first.register_file("a", file_of(tmp_path, "a"))
    second = opened(tmp_path, clock)  # the first was never closed
    assert [handle.resource_id for handle in second.list()] == ["a"]
    second.close()
    first.close()


def test_objects_go_with_their_host(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    told: list[Handle] = []
    resources.on_evict = told.append
    resources.register("a", "page", backend=Backend.OBJECT, owner="h1")
    resources.register("b", "page", backend=Backend.OBJECT, owner="h2")
    resources.drop_owner("h1")
    assert [handle.resource_id for handle in resources.list()] == ["b"]
    assert told == []
    resources.close()


def test_releasing_as_evicted_lets_it_go(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    handle = resources.register("a", "page")
    resources.lease("a")
    resources.release("a", "evicted")
    assert handle.state is State.EVICTED
    resources.release("a")  # once more is no harm
    resources.close()


def test_a_large_result_is_kept_in_a_file(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    handle = resources.keep_result("r", "a/b::c", b'{"x":1}')
    assert handle.path is not None
    assert Path(handle.path).read_bytes() == b'{"x":1}'
    assert Path(handle.path).is_relative_to(run_dir(tmp_path, "r"))
    resources.close()


def test_what_was_evicted_long_ago_is_forgotten(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    resources.register("a", "page")
    clock.now += 200
    resources.gc()
    clock.now += 4000
    resources.gc()
    with pytest.raises(ResourceMissing, match="is not on this worker"):
        resources.get("a")
    resources.close()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\\b", "x" * 300, "a\0b"])
def test_names_become_one_safe_part_of_a_path(name: str) -> None:
    part = safe_part(name)
    assert part not in ("", ".", "..")
    assert "/" not in part
    assert "\0" not in part
    assert len(part) < 100
    assert safe_part("a/b") != safe_part("a_b")


def test_settings_come_from_the_seeds_variables(tmp_path: Path) -> None:
    env = {
        "ASTRA_WORKER_INLINE_RESULT_LIMIT_BYTES": "10",
        "ASTRA_WORKER_RESOURCE_MAX_DISK_BYTES": "1000",
        "ASTRA_WORKER_RESOURCE_DEFAULT_TTL_SECONDS": "5",
    }
    found = resource_settings(tmp_path, "w", env)
    assert (found.inline_limit_bytes, found.disk_bytes_max, found.ttl_s) == (10, 1000, 5.0)
    assert resource_settings(tmp_path, "w", {}).inline_limit_bytes == 2097152


def test_the_folder_of_a_run_nobody_ended_goes_after_a_day(tmp_path: Path, clock: Clock) -> None:
    resources = opened(tmp_path, clock)
    for run in ("old", "busy", "kept", "fresh"):
        file_of(tmp_path, f"runs/{run}/t/a.txt")
    resources.register_file("a", tmp_path / "runs/kept/t/a.txt", scope="kept")
    for path in [*(tmp_path / "runs").rglob("*")]:
        os.utime(path, (clock.now, clock.now))
    clock.now += 24 * 3600 + 1
    os.utime(tmp_path / "runs/fresh/t/a.txt", (clock.now, clock.now))
    assert resources.expire_runs({"busy"}) == ["old"]
    left = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert left == ["busy", "fresh", "kept"]


def test_how_long_folders_of_runs_stay_is_for_the_operator_to_say(tmp_path: Path) -> None:
    env = {"ASTRA_WORKER_RUN_FOLDER_TTL_SECONDS": "60"}
    assert resource_settings(tmp_path, "w", env).run_folder_s == 60
    assert resource_settings(tmp_path, "w", {}).run_folder_s == 24 * 3600
