"""`windlass worker agents`: what is wrong with its settings is said before it registers."""

import sys

import pytest
from click.testing import CliRunner

from windlass.cli.worker import worker as command
from windlass.worker.registry import Worker
from windlass.worker.settings import WorkerSettings

LOCAL = ("--base-url", "http://127.0.0.1:9/v1")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Worker, WorkerSettings]]:
    found: list[tuple[Worker, WorkerSettings]] = []

    def serve(worker: Worker, settings: WorkerSettings) -> bool:
        found.append((worker, settings))
        return True

    monkeypatch.setattr("windlass.worker.serve.serve", serve)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WINDLASS_MODEL", "WINDLASS_URL"):
        monkeypatch.delenv(name, raising=False)
    return found


def agents(*args: str) -> str:
    """What is wrong, or nothing."""
    result = CliRunner().invoke(command, ["agents", *args])
    return "" if result.exception is None else str(result.exception)


def test_the_three_profiles_are_served_by_one_model(
    served: list[tuple[Worker, WorkerSettings]],
) -> None:
    assert agents("--model", "openai:m", *LOCAL, "--server", "http://h:1", "--token", "t") == ""
    [(worker, settings)] = served
    assert sorted(worker.services) == ["llm.default", "llm.verifier", "planner.default"]
    assert (settings.mode, settings.server, settings.token) == ("pull", "http://h:1", "t")


def test_profiles_have_models_of_their_own(served: list[tuple[Worker, WorkerSettings]]) -> None:
    args = ("--profiles", "a, b", "--model", "a=openai:m", "--model", "openai:n", *LOCAL)
    assert agents(*args, "--price-per-mtoken", "b=0.5", "--concurrency", "3") == ""
    [(worker, settings)] = served
    assert sorted(worker.services) == ["a", "b"]
    assert settings.concurrency == 3


@pytest.mark.parametrize(
    ("args", "flaw"),
    [
        ((), 'no model for profile "planner.default"; give --model'),
        (("--model", "llm.default=openai:m", *LOCAL), 'no model for profile "planner.default"'),
        (("--model", "gpt-9"), "--model gpt-9: not PROVIDER:NAME"),
        (("--model", "openai:m"), "set OPENAI_API_KEY, or name a server that needs none"),
        (("--model", "nobody:m"), "--model nobody:m: Unknown model"),
        (("--model", "anthropic:m"), "--model anthropic:m: "),
        (("--model", "anthropic:m", *LOCAL), "does not go with --base-url"),
        (("--model", "openai:m", "--model", "openai:n"), "--model is given twice"),
        (("--model", "x=openai:m", "--model", "openai:m", *LOCAL), '"x" is no profile'),
        (("--model", "openai:m", *LOCAL, "--price-per-mtoken", "dear"), "not a price"),
        (("--model", "openai:m", *LOCAL, "--tools", "no_such_module"), "no module"),
    ],
)
def test_what_is_wrong_is_named(
    served: list[tuple[Worker, WorkerSettings]], args: tuple[str, ...], flaw: str
) -> None:
    assert flaw in agents(*args)
    assert served == []


def test_without_the_extra_the_command_to_install_it_is_said(
    served: list[tuple[Worker, WorkerSettings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "windlass.agents.hosting", None)
    assert "pip install 'windlass[agents]'" in agents("--model", "openai:m", *LOCAL)
    assert served == []
