"""`windlass worker`: what flags and variables make of a worker's settings."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from windlass.cli.worker import worker as command
from windlass.worker.registry import Worker
from windlass.worker.settings import WorkerSettings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[WorkerSettings]:
    """The settings of workers that would have been served."""
    found: list[WorkerSettings] = []

    def serve(_: Worker, settings: WorkerSettings) -> bool:
        found.append(settings)
        return True

    monkeypatch.setattr("windlass.worker.serve.serve", serve)
    for name in ("WINDLASS_URL", "WINDLASS_SERVER", "WINDLASS_TOKEN", "WINDLASS_MODE"):
        monkeypatch.delenv(name, raising=False)
    return found


def worker(*args: str, **env: str) -> Result:
    variables = {f"ASTRA_WORKER_{name}": value for name, value in env.items()}
    return CliRunner().invoke(command, args, env=variables)


@pytest.mark.parametrize("name", ["WORKER_ID", "WORKER_NAME"])
def test_a_worker_named_by_a_variable_finds_its_folders_again(
    served: list[WorkerSettings], name: str
) -> None:
    for _ in range(2):
        assert worker("packages", "--mode", "link", **{name: "w1"}).exit_code == 0
    for settings in served:
        assert settings.link is not None
        assert (settings.id, settings.link.worker_id) == ("w1", "w1")
        assert settings.link.packages_dir == Path(".windlass/workers/w1/packages")
        assert settings.link.data_dir == Path(".windlass/workers/w1/data")


def test_flags_win_over_variables_and_variables_over_defaults(
    served: list[WorkerSettings],
) -> None:
    env = {
        "WORKER_ID": "theirs",
        "AUTH_TOKEN": "theirs",
        "SCHEDULER_WS_URL": "ws://there:1/ws/worker",
        "CONCURRENCY_MAX_PARALLEL": "3",
        "DATA_DIR": "/theirs",
    }
    worker("packages", **env)
    flags = ["--id", "ours", "--token", "ours", "--server", "http://here:2", "--concurrency", "4"]
    worker("packages", *flags, "--data-dir", "/ours", **env)
    theirs, ours = (settings.link for settings in served)
    assert theirs is not None
    assert ours is not None
    assert (theirs.worker_id, theirs.token, theirs.url) == (
        "theirs",
        "theirs",
        "ws://there:1/ws/worker",
    )
    assert (theirs.max_parallel, theirs.data_dir) == (3, Path("/theirs"))
    assert (ours.worker_id, ours.token, ours.url) == ("ours", "ours", "ws://here:2/ws/worker")
    assert (ours.max_parallel, ours.data_dir) == (4, Path("/ours"))
    assert [settings.concurrency for settings in served] == [3, 4]


def test_a_name_cannot_lead_out_of_the_folder_of_workers(served: list[WorkerSettings]) -> None:
    worker("packages", "--mode", "link", WORKER_ID="../../etc")
    assert served[0].link is not None
    assert served[0].link.data_dir.parts[:2] == (".windlass", "workers")
    assert ".." not in served[0].link.data_dir.parts


@pytest.mark.parametrize(
    "env", [{"TRANSPORT": "websocket"}, {"SCHEDULER_WS_URL": "ws://there:1/ws/worker"}]
)
def test_variables_alone_make_a_link_worker(
    served: list[WorkerSettings], env: dict[str, str]
) -> None:
    assert worker(**env).exit_code == 0
    assert [settings.mode for settings in served] == ["link"]


def test_without_a_word_from_anybody_there_is_help(served: list[WorkerSettings]) -> None:
    assert "TARGET" in worker().output
    assert not served


def test_a_variable_that_makes_no_sense_is_named_and_not_shown(
    served: list[WorkerSettings],
) -> None:
    said = worker("--mode", "link", HANDLER_ENVIRONMENT='{"KEY": "s3cret"')
    assert said.exit_code != 0
    assert "ASTRA_WORKER_HANDLER_ENVIRONMENT" in str(said.exception) + said.output
    assert "s3cret" not in str(said.exception) + said.output
