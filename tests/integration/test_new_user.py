"""What somebody meets who tries it for the first time, with real processes on both databases."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.link.workflows import node, uuid, workflow
from tests.packages import example
from windlass.client import Client, RunFailed
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started, wait_until, worker_process

Json = dict[str, Any]
FAILS: Json = {"exec_type": "local_func", "func": "upper", "prep": {"input_key": "$params.n"}}
GOES_ON: Json = {"kind": "timer", "params": {"delay_ms": 1}}


def command(url: str, *args: str) -> "subprocess.CompletedProcess[str]":
    whole = [sys.executable, "-m", "windlass", *args, "--server", url, "--token", TOKEN]
    return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=60)


def flow(**more: Any) -> Json:
    edges = [{"from": "a", "to": "b"}]
    return {"start": "a", "nodes": {"a": FAILS, "b": GOES_ON}, "edges": edges, **more}


def test_a_run_that_went_on_after_a_failure_says_so_everywhere(served: Served) -> None:
    served.push("goes-on", flow())
    url = served.server.url
    done = command(url, "run", "start", "goes-on", "-p", "n:=1", "--wait", "20s")
    assert (done.returncode, done.stdout.split("\t")[1]) == (0, "succeeded with failures\n")
    run_id = done.stdout.split("\t")[0]
    listed = command(url, "run", "ls", "-q", "flow:goes-on").stdout
    assert listed.endswith("\t1\n"), "to programs a list tells how many steps failed"
    assert "with failures" in command(url, "run", "show", run_id).stderr
    with Client(url, token=TOKEN) as client:
        ended = client.run(run_id).refresh()
        assert (ended.with_failures, ended.outcome) == (True, "succeeded with failures")


def test_a_failure_fails_the_run_where_the_flow_says_so(served: Served) -> None:
    served.push("fails", flow(on_failure="fail"))
    url = served.server.url
    done = command(url, "run", "start", "fails", "-p", "n:=1", "--wait", "20s")
    assert done.returncode != 0
    with Client(url, token=TOKEN) as client:
        run = client.start("fails", {"n": 1})
        with pytest.raises(RunFailed):
            run.result()


def test_a_missing_worker_is_named_with_the_one_of_the_wrong_transport(served: Served) -> None:
    step = {"exec_type": "http", "service": "only-pulls"}
    served.push("wrong-transport", {"start": "a", "nodes": {"a": step}, "edges": []})
    body = {"id": "puller", "transport": "pull", "services": ["only-pulls"], "capacity": 1}
    assert served.http.post("/api/v1/workers", json=body).status_code == 200
    run_id = served.start("wrong-transport")
    why = served.http.get(f"/api/v1/runs/{run_id}/why").json()["line"]
    assert "only-pulls" in why
    assert "puller" in why
    served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})


def test_workers_nobody_has_heard_of_are_forgotten(fresh_database: str, tmp_path: Path) -> None:
    names = {f"old-{number}" for number in range(30)}
    log = tmp_path / "log"

    def known(found: Served) -> set[str]:
        rows = found.http.get("/api/v1/workers", params={"limit": 200}).json()["items"]
        return {row["id"] for row in rows} & names

    first = ServerProcess(fresh_database, "--admin-token", TOKEN, log=log)
    with started(first):
        found = Served(first, fresh_database)
        for name in names:
            body = {"id": name, "transport": "pull", "services": ["s"], "capacity": 1}
            assert found.http.post("/api/v1/workers", json=body).status_code == 200
        assert known(found) == names
        found.http.close()
    asyncio.run(age(fresh_database))
    kept = ("--worker-kept-days", "10")
    second = ServerProcess(fresh_database, "--admin-token", TOKEN, *kept, log=log)
    with started(second):
        found = Served(second, fresh_database)
        wait_until(lambda: known(found) == set(), 20)
        found.http.close()


async def age(db: str) -> None:
    """Eleven days go by."""
    old, days = "update workers set seen_at = seen_at - {}", 11 * 86_400_000
    if db.startswith("sqlite"):
        with closing(sqlite3.connect(db.removeprefix("sqlite:///"))) as file, file:
            file.execute(old.format(days))
        return
    connection = await asyncpg.connect(db)
    try:
        await connection.execute("set search_path to windlass")
        await connection.execute(old.format(days))
    finally:
        await connection.close()


def shouting() -> Json:
    """A workflow with an input and an output of its own."""
    step = node("shout", "text.upper", "text_tools", parameters={"text": ""})
    places = [{"node": uuid("shout"), "path": "parameters.text"}]
    inputs = {"word": {"schema": {"type": "string"}, "required": True, "to": places}}
    outputs = {"loud": {"node": uuid("shout"), "path": "results.text"}}
    return workflow("shouting", [step], [], inputs=inputs, outputs=outputs)


def test_a_package_published_here_is_installed_by_a_worker_there_and_its_workflow_run(
    postgres_server: servers.PostgresServer, tmp_path: Path
) -> None:
    """Two machines, which share a database and no folder."""
    db = postgres_server.new_database()
    here, there = (
        ServerProcess(db, "--admin-token", TOKEN, "--data-dir", str(tmp_path / name))
        for name in ("here", "there")
    )
    folders = ("--packages-dir", str(tmp_path / "packages"), "--data-dir", str(tmp_path / "data"))
    worker = worker_process("packages", there.url, "link", "--id", "far", *folders, token=TOKEN)
    with started(here), started(there), started(worker):
        found = Served(here, db)
        sent = found.http.post("/api/v1/published-packages", content=example("text_tools"))
        found.http.close()
        assert sent.status_code == 201, sent.text
        file = tmp_path / "shouting.json"
        file.write_text(json.dumps(shouting()))
        pushed = command(there.url, "flow", "push", str(file), "--name", "loudly")
        assert pushed.returncode == 0, pushed.stderr
        refused = command(there.url, "run", "start", "loudly", "-p", "wrod=x")
        assert refused.returncode != 0
        assert 'did you mean "word"' in refused.stderr
        done = command(there.url, "run", "start", "loudly", "-p", "word=hey", "--wait", "60s")
        assert done.stdout.endswith("\tsucceeded\n"), done.stderr
        with Client(here.url, token=TOKEN) as client:
            assert client.run(done.stdout.split("\t")[0]).result() == {"loud": "HEY"}
