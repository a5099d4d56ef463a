"""Upgrading under load: the release before this one, both, this one, and back again.

The release before is kept as its sources; `tools/previous_release.py` makes them.
"""

import itertools
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import TOKEN
from tests.integration.test_recovery import SERVICES
from windlass.testing import servers
from windlass.testing.processes import Process, ServerProcess, started, wait_until, worker_process

KEPT = Path(__file__).parent / "previous.tar.xz"
STEP = {"exec_type": "queue", "service": "step", "post": {"output_key": "seen"}}
FLOW = {
    "start": "a",
    "nodes": {"a": STEP, "b": STEP, "c": STEP},
    "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}],
}
MORE = 15
"""So many runs begin and end in every stage, at least."""


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(fileobj=BytesIO(lzma.decompress(KEPT.read_bytes()))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


@pytest.fixture(params=["sqlite", "postgres"])
def db(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: servers.PostgresServer
) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'windlass.db'}"
    else:
        url = postgres_server.new_database()
        yield url
        postgres_server.drop_database(url)


class Load(threading.Thread):
    """Starts runs, one after the other, through whichever server is there, and sees them end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.urls: list[str] = []
        self.ended: list[str] = []
        self.wrong: list[str] = []
        self._over = threading.Event()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self._http = httpx.Client(headers=headers, timeout=20)

    def run(self) -> None:
        with self._http:
            for number in itertools.count():
                if self._over.is_set():
                    return
                self._one(number)

    def _one(self, number: int) -> None:
        run_id = self._asked("POST", "/api/v1/runs", number)["id"]
        shown = {"state": "queued"}
        while shown["state"] not in ("succeeded", "failed", "cancelled"):
            shown = self._asked("GET", f"/api/v1/runs/{run_id}?waitMs=5000", number)
        if shown["state"] != "succeeded":
            self.wrong.append(f"run {run_id} is {shown['state']}: {shown['error']}")
        self.ended.append(run_id)

    def _asked(self, method: str, path: str, number: int) -> dict[str, str]:
        """Ask until answered: servers come and go, but what they say is never a fault of theirs."""
        body = {"flow": "load", "params": {"n": number}, "requestId": f"load-{number}"}
        for turn in itertools.count(number):
            url = self.urls[turn % len(self.urls)]
            try:
                answer = self._http.request(
                    method, url + path, json=body if method == "POST" else None
                )
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code == 503:
                time.sleep(0.05)
                continue
            if answer.is_error:
                self.wrong.append(f"{answer.status_code} for {method} {path}: {answer.text:.300}")
                time.sleep(0.2)
                continue
            found: dict[str, str] = answer.json()
            return found
        raise AssertionError

    def more(self) -> None:
        """Wait until so many more runs have ended well."""
        wanted = len(self.ended) + MORE
        wait_until(lambda: len(self.ended) >= wanted or self.wrong, 60)
        assert not self.wrong, self.wrong[:5]

    def stop(self) -> None:
        self._over.set()
        self.join(30)
        assert not self.wrong, self.wrong[:5]


class Release:
    """A server of a release with a worker of its own."""

    def __init__(self, name: str, db: str, folder: Path, sources: Path | None) -> None:
        self.log = folder / f"{name}.log"
        env = {"EFFECTS": str(folder / "effects")}
        path = [SERVICES] if sources is None else [sources, SERVICES]
        env["PYTHONPATH"] = os.pathsep.join(map(str, path))
        self.server = ServerProcess(db, "--admin-token", TOKEN, env=env, log=self.log)
        self.worker = worker_process(
            "slow_services:worker",
            self.server.url,
            "pull",
            "--id",
            name,
            token=TOKEN,
            path=path,
            env=env,
            log=self.log,
        )

    @property
    def processes(self) -> tuple[Process, Process]:
        return self.server, self.worker

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()


def test_a_database_goes_from_release_to_release_and_back_under_load(
    db: str, previous: Path, tmp_path: Path
) -> None:
    before = Release("before", db, tmp_path, previous)
    now = Release("now", db, tmp_path, None)
    load = Load()
    with started(*before.processes):
        load.urls = [before.server.url]
        headers = {"Authorization": f"Bearer {TOKEN}"}
        push = f"{before.server.url}/api/v1/flows/load/versions"
        httpx.post(push, json={"definition": FLOW}, headers=headers).raise_for_status()
        load.start()
        load.more()
        migrate = [sys.executable, "-m", "windlass", "db", "migrate", "--db", db]
        subprocess.run(migrate, check=True, capture_output=True)
        load.more()  # the release before, on the schema of this one
        with started(*now.processes):
            load.urls = [before.server.url, now.server.url]
            load.more()  # both at once
            load.urls = [now.server.url]
            before.stop()
            load.more()  # this one alone
            for process in before.processes:
                process.start()
            load.urls = [before.server.url]
            now.stop()
            load.more()  # and back
        load.stop()
    begun = (tmp_path / "effects").read_text().split("\n")[:-1]
    assert len(begun) == len(set(begun))  # no attempt was given out twice
    assert len(begun) >= 3 * len(load.ended)
