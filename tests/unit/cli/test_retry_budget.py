"""`windlass server` hands its retry budgets on as they were given."""

import pytest

from tests.unit.cli.conftest import Invoke
from windlass.wiring import commands
from windlass.wiring.options import ServerOptions


def test_a_server_is_told_how_much_is_retried(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[ServerOptions] = []

    def serve(options: ServerOptions) -> int:
        given.append(options)
        return 0

    monkeypatch.setattr(commands, "server", serve)
    bounds = ("--retry-budget-per-minute", "60", "--retry-budget-concurrent", "5")
    done = invoke("server", "--admin-token", "t", *bounds, "--no-worker-s", "7")
    assert done.exit_code == 0, done.output
    assert (given[0].retry_budget_per_minute, given[0].retry_budget_concurrent) == (60, 5)
    assert given[0].no_worker_s == 7
