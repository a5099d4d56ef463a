"""A backup taken while a server runs holds everything, and a server starts on it."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from windlass.testing import servers
from windlass.testing.processes import ServerProcess

TIMER = {"start": "a", "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 1}}}}


def back_up(db: str, target: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "windlass", "db", "backup", str(target), "--db", db, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_sqlite_backup_is_a_database_with_its_files(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'w.db'}"
    kept = tmp_path / "w.db.files" / "kept" / "a"
    kept.parent.mkdir(parents=True)
    kept.write_text("blob")
    target = tmp_path / "backup"
    with ServerProcess(db, "--no-auth", log=tmp_path / "log") as server:
        pushed = httpx.post(f"{server.url}/api/v1/flows/timer/versions", json={"definition": TIMER})
        assert pushed.status_code == 201
        done = back_up(db, target)
        assert done.returncode == 0, done.stderr
        assert back_up(db, target).returncode != 0
    assert (target / "files" / "kept" / "a").read_text() == "blob"
    restored = f"sqlite:///{target / 'windlass.db'}"
    with ServerProcess(restored, "--no-auth", log=tmp_path / "log") as server:
        assert httpx.get(f"{server.url}/api/v1/flows/timer").json()["latest"] == 1


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = back_up(f"sqlite:///{tmp_path / 'none.db'}", tmp_path / "backup")
    assert done.returncode != 0
    assert "there is no database" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_postgres_backup_is_a_dump(
    postgres_server: servers.PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.new_database()
    programs = servers.postgres_binaries()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    migrate = [sys.executable, "-m", "windlass", "db", "migrate", "--db", url]
    subprocess.run(migrate, check=True, capture_output=True)
    done = back_up(url, tmp_path / "backup", "--data-dir", str(tmp_path / "none"))
    assert done.returncode == 0, done.stderr
    dump = tmp_path / "backup" / "windlass.dump"
    listing = [str(programs / "pg_restore"), "--list", str(dump)]
    shown = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    assert "TABLE DATA windlass runs" in shown
