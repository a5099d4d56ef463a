"""A server for all tests of agents; the agents are each module's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.agents.agents import Plans
from windlass.testing.processes import ServerProcess


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="session")
def plans(folder: Path) -> Iterator[Plans]:
    args = ("--no-auth", "--lease-s", "2")
    with ServerProcess(f"sqlite:///{folder / 'w.db'}", *args, log=folder / "server.log") as server:
        found = Plans(server)
        yield found
        found.http.close()
