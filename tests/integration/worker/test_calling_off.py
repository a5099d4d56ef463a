"""A worker that stops calls off the request it has waiting, and nothing is lost in that moment."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.integration.conftest import TOKEN, Served

Json = dict[str, Any]
ROUNDS = 30


def exchange(served: Served, worker: str, **more: Any) -> Json:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{served.server.url}/api/v1/workers/{worker}/exchange"
    body = {"services": ["called-off"], **more}
    found: Json = httpx.post(url, json=body, headers=headers, timeout=30).json()
    return found


def register(served: Served, worker: str) -> None:
    body = {"id": worker, "transport": "pull", "services": ["called-off"], "capacity": 1}
    assert served.http.post("/api/v1/workers", json=body).status_code == 200


def test_whatever_is_offered_while_a_request_is_called_off_is_somebodys(served: Served) -> None:
    node = {"exec_type": "queue", "service": "called-off"}
    served.push("called-off", {"start": "a", "nodes": {"a": node}, "edges": []})
    register(served, "leaver")
    register(served, "stayer")
    with ThreadPoolExecutor(2) as people:
        for number in range(1, ROUNDS + 1):
            ask = {"slots": 1, "number": number, "waitMs": 20_000}
            waiting = people.submit(exchange, served, "leaver", **ask)
            time.sleep(0.02)
            barrier = threading.Barrier(2)

            def start(barrier: threading.Barrier = barrier) -> str:
                barrier.wait()
                return served.start("called-off")

            started = people.submit(start)
            barrier.wait()
            began = time.monotonic()
            exchange(served, "leaver", ends=number)
            given = waiting.result(10)["attempts"]
            assert time.monotonic() - began < 5
            run_id = started.result(10)
            if not given:
                given = exchange(served, "stayer", slots=1, waitMs=5_000)["attempts"]
            [attempt] = given
            assert attempt["runId"] == run_id
            done = {"attemptId": attempt["attemptId"], "token": attempt["token"], "output": 1}
            exchange(served, "stayer", results=[done])
            assert served.wait(run_id)["state"] == "succeeded"


def test_a_request_of_another_number_or_worker_goes_on_waiting(served: Served) -> None:
    register(served, "leaver")
    register(served, "stayer")
    with ThreadPoolExecutor(1) as people:
        ask = {"slots": 1, "number": 7, "waitMs": 1_500}
        waiting = people.submit(exchange, served, "leaver", **ask)
        time.sleep(0.1)
        began = time.monotonic()
        exchange(served, "leaver", ends=8)
        exchange(served, "stayer", ends=7)
        assert waiting.result(10)["attempts"] == []
        assert time.monotonic() - began > 1
