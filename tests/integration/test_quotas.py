"""Quotas with real processes: never more than they allow, over servers that are killed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.pods import cluster_on
from windlass.testing import servers
from windlass.testing.kube import KubeServer
from windlass.testing.processes import ServerProcess, started, wait_until

ASK = {"start": "ask", "nodes": {"ask": {"kind": "approval", "params": {"prompt": "?"}}}}
RUNS = 12


def states(served: Served, ids: list[str]) -> list[str]:
    return [str(served.wait(id_, 0)["state"]) for id_ in ids]


def set_quota(http: httpx.Client, key: str, most: float) -> None:
    answer = http.put("/api/v1/limit-rules", json={"pattern": key, "max": most})
    assert answer.status_code == 200, answer.text


def use(http: httpx.Client, key: str) -> dict[str, object]:
    [found] = http.get("/api/v1/limits", params={"key": key}).json()["items"]
    return dict(found)


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'w.db'}"
    server: servers.PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.fixture
def two(db: str, tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    log = tmp_path / "servers.log"
    both = [ServerProcess(db, "--admin-token", TOKEN, log=log) for _ in range(2)]
    with started(*both):
        here, there = Served(both[0], db), Served(both[1], db)
        with here.http, there.http:
            yield here, there


def test_runs_wait_for_their_place_over_two_servers_and_kill_9(two: tuple[Served, Served]) -> None:
    here, there = two
    set_quota(here.http, "quota:runs", 3)
    set_quota(here.http, "quota:runs@ml", 1)
    wait_until(lambda: len(there.http.get("/api/v1/limit-rules").json()["items"]) == 2)
    here.push("asks", ASK)
    # Each server hears of each rule by itself, and what it starts before is not under it.
    wait_until(lambda: knows(there))
    ids = [(here, there)[n % 2].start("asks", project="ml" if n % 3 else "") for n in range(RUNS)]
    assert states(there, ids).count("waiting") == 3
    line = str(there.http.get(f"/api/v1/runs/{ids[-1]}/why").json()["line"])
    assert line == "waits to begin: quota of tenant default: 3 of 3 runs in use, 7 ahead of you"
    found = there.http.get("/api/v1/runs", params={"q": "project:ml status:queued"}).json()["items"]
    assert len(found) == 7
    left = list(ids)
    for turn in range(RUNS):
        if turn == 4:
            here.server.kill()
        begun = wait_until(lambda: [i for i in left if states(there, [i]) == ["waiting"]])
        assert len(begun) <= 3
        answer = there.http.post(
            f"/api/v1/checkpoints/{begun[0]}~ask.1!0/resolve", json={"answer": "approved"}
        )
        assert answer.status_code == 200, answer.text
        left.remove(begun[0])
        wait_until(lambda done=begun[0]: states(there, [done]) == ["succeeded"])
    assert states(there, ids) == ["succeeded"] * RUNS
    assert use(there.http, "quota:runs")["inUse"] == use(there.http, "quota:runs@ml")["inUse"] == 0


def knows(served: Served) -> bool:
    """Whether a server has heard of both quotas: what is started there is under each. A key is in
    use once a run is under it, and nobody but this has started any."""
    run_id = served.start("asks", project="ml")
    keys = {use["key"] for use in served.http.get("/api/v1/limits").json()["items"]}
    known = keys == {"quota:runs", "quota:runs@ml"}
    served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
    wait_until(lambda: states(served, [run_id]) == ["cancelled"])
    return known


def test_pods_together_take_no_more_than_there_may_be(tmp_path: Path) -> None:
    with (
        KubeServer() as kube,
        cluster_on(f"sqlite:///{tmp_path / 'w.db'}", kube, tmp_path / "log") as cluster,
    ):
        set_quota(cluster.http, "quota:cpu", 2.5)
        ids = [cluster.start(resources={"cpu": "1", "memory": "64Mi"}) for _ in range(4)]
        wait_until(lambda: len(cluster.pods()) == 2)
        assert use(cluster.http, "quota:cpu") | {"inUse": 2.0, "max": 2.5, "waiting": 2} == use(
            cluster.http, "quota:cpu"
        )
        lines = [cluster.get(id_, "/why")["line"] for id_ in ids]
        said = "quota of tenant default: 2 of 2.5 cpu in use, it takes 1"
        assert sum(said in line for line in lines) == 2
        for _ in ids:
            pods = wait_until(lambda: [pod for pod in cluster.pods() if not cluster.leaves(pod)])
            assert len(pods) <= 2
            cluster.succeed(pods[0])
            wait_until(lambda pod=pods[0]: cluster.leaves(pod))
        for id_ in ids:
            cluster.until(id_, "succeeded")
        assert use(cluster.http, "quota:cpu")["inUse"] == 0


def test_what_makes_no_sense_is_refused_and_changes_nothing(two: tuple[Served, Served]) -> None:
    here, _ = two
    for body in (
        {"pattern": "quota:rows", "max": 1},
        {"pattern": "quota:runs", "rate": 1},
        {"pattern": "quota:runs", "max": 1.5},
        {"pattern": "quota:runs@Not A Name", "max": 1},
    ):
        answer = here.http.put("/api/v1/limit-rules", json=body)
        assert answer.status_code == 400, (body, answer.text)
    assert here.http.get("/api/v1/limit-rules").json()["items"] == []
    here.push("asks", ASK)
    answer = here.http.post("/api/v1/runs", json={"flow": "asks", "project": "Not A Name"})
    assert answer.status_code == 400
    assert "cannot be a project's name" in answer.text


def test_files_are_taken_in_only_while_they_fit(two: tuple[Served, Served]) -> None:
    here, there = two
    set_quota(here.http, "quota:storage", 2)
    mebibyte = b"x" * (1 << 20)

    def upload(served: Served) -> httpx.Response:
        return served.http.post("/api/v1/resources", files={"file": ("a.bin", mebibyte)})

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: upload(here), range(6)))
    kept = [answer for answer in answers if answer.status_code < 300]
    assert len(kept) == 2, [answer.text for answer in answers]
    refused = next(answer for answer in answers if answer.status_code >= 300)
    assert refused.status_code == 409
    assert "2 MiB of 2 MiB storage in use, and the file takes 1 MiB" in refused.text
    assert use(there.http, "quota:storage")["inUse"] == 2
    resource = kept[0].json()["resourceId"]
    assert here.http.delete(f"/api/v1/resources/{resource}").status_code < 300
    assert upload(here).status_code < 300
    text = here.http.get("/metrics").text
    assert 'windlass_quota{tenant="default",project="",what="storage",of="max"} 2' in text
