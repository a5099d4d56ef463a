"""`windlass collector`: what its options and variables mean."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from windlass.cli.collector import collector
from windlass.collector import serve as serving
from windlass.model.errors import BadRequest

KUBE = ["--kube-url", "http://127.0.0.1:1"]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[serving.CollectorSettings, str]]:
    """What would be run: the settings, and where observations would go."""
    found: list[tuple[serving.CollectorSettings, str]] = []
    for name in ("NODE_NAME", "WINDLASS_REDIS", "WINDLASS_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        serving, "serve", lambda settings, sink: found.append((settings, f"{sink()}"))
    )
    return found


def run(*args: str, **env: str) -> Any:
    return CliRunner().invoke(collector, list(args), env=env, catch_exceptions=True)


def test_the_seeds_variables_are_understood(
    served: list[tuple[serving.CollectorSettings, str]], tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'http://h:1'}}]\nusers: [{name: a, user: {}}]\n"
    )
    done = run(
        FLOWFORGE_REDIS_ADDRESSES="10.0.0.1:6379,10.0.0.2:6379",
        FLOWFORGE_KUBERNETES_KUBECONFIG=str(config),
        FLOWFORGE_KUBERNETES_NAMESPACE="jobs",
        FLOWFORGE_KUBERNETES_IN_CLUSTER="false",
        NODE_NAME="n7",
    )
    assert done.exit_code == 0, done.output
    settings, sink = served[0]
    assert (settings.access.url, settings.node, settings.namespace) == ("http://h:1", "n7", "jobs")
    assert (settings.watch.node, settings.watch.namespace) == ("n7", "jobs")
    assert sink == "Redis (2 addresses)"


def test_what_is_typed_wins_over_variables_and_two_of_a_kind_are_refused(
    served: list[tuple[serving.CollectorSettings, str]],
) -> None:
    run(*KUBE, "--server", "http://s", FLOWFORGE_REDIS_ADDRESSES="h:1")
    run(*KUBE, "--redis", "h:1", WINDLASS_SERVER="http://s")
    run(*KUBE)
    assert [sink.partition(" (")[0] for _, sink in served] == [
        "the server at http://s",
        "Redis",
        "Redis",
    ]
    both = run(*KUBE, "--server", "http://s", "--redis", "h:1")
    assert isinstance(both.exception, BadRequest)
    assert "give --redis or --server only" in str(both.exception)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--server", "nowhere"], "write it as https://HOST:PORT"),
        (["--redis", "ftp://x"], "write it as redis://HOST:PORT/0"),
    ],
)
def test_a_bad_address_is_named(
    args: list[str], message: str, served: list[tuple[serving.CollectorSettings, str]]
) -> None:
    done = run(*KUBE, *args)
    assert isinstance(done.exception, BadRequest)
    assert message in str(done.exception)


def test_deadlines_are_settings(served: list[tuple[serving.CollectorSettings, str]]) -> None:
    run(*KUBE, "--unschedulable-s", "7", "--creating-s", "9", "--metrics-port", "9100")
    settings, _ = served[0]
    assert (settings.deadlines.unschedulable_s, settings.deadlines.creating_s) == (7, 9)
    assert settings.metrics_port == 9100
    assert isinstance(run("--creating-s", "0").exception, SystemExit | click.UsageError)
