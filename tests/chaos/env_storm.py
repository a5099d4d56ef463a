"""A storm over environments: real containers and browsers, and kill -9 of everything around them.

A server, two workers and an env-host, podman and Chromium; plans whose tasks work in a place, some
of which ask a person in between. Worker, server, host, containers and browsers are killed at
random. When calm returns every run must end, nothing may be left in the runtimes after twice the
lease's time, no write of one who had lost his place may have counted, and what was held must be as
it was left.
`python -m tests.chaos.env_storm --leases 500` is the long one; a test runs a short one.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.site import site
from windlass.testing.podman import IMAGE, PodmanServer, podman
from windlass.testing.processes import Process, ServerProcess, worker_process

TOKEN = "storm-token"
CHROMIUM = "/usr/bin/chromium"
HERE = Path(__file__).parents[2]
TTL_S = 10.0
CALM_S = 300.0


class Storm:
    """The processes, what is done to them, and what came of it."""

    def __init__(self, folder: Path, runtime: PodmanServer, url: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.runtime = runtime
        self.url = url
        self.effects = folder / "effects"
        self.effects.touch()
        self.state = folder / "host"
        log = folder / "processes.log"
        told = ("--admin-token", TOKEN, "--lease-s", "3", "--env-lease-s", str(TTL_S))
        self.server = ServerProcess(f"sqlite:///{folder / 'storm.db'}", *told, log=log)
        env = {"ENV_EFFECTS": str(self.effects)}
        self.workers = [
            worker_process(
                "tests.chaos.env_services:worker",
                self.server.url,
                "pull",
                "--id",
                f"storm-{number}",
                token=TOKEN,
                path=[HERE],
                env=env,
                log=log,
            )
            for number in range(2)
        ]
        self.host = Process(
            "env-host",
            *("--server", self.server.url, "--name", "machine", "--token", TOKEN),
            *("--docker", runtime.url, "--browser", CHROMIUM, "--state", str(self.state)),
            log=log,
        )
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.http = httpx.Client(base_url=self.server.url, headers=headers, timeout=10)
        self.harm: Counter[str] = Counter()
        self.runs: list[str] = []

    @property
    def processes(self) -> list[Process]:
        return [self.server, *self.workers, self.host]

    def start(self) -> None:
        for process in self.processes:
            process.start()
        self.until(self._has_runtimes, 60)
        for name, kind, config in (
            ("box", "container", {"image": IMAGE, "pull": "never"}),
            ("web", "browser", {}),
        ):
            body = {"name": name, "kind": kind, "capacity": 3, "config": config}
            assert self.http.post("/api/v1/envs/resources", json=body).status_code == 201

    def _has_runtimes(self) -> bool:
        kinds = self.ask("GET", "/api/v1/envs/kinds")["items"]
        return {"container", "browser"} <= {one["kind"] for one in kinds if not one["missing"]}

    # Asking a server that may be dead

    def ask(self, method: str, path: str, **more: Any) -> Any:
        for _ in range(100):
            try:
                answer = self.http.request(method, path, **more)
            except httpx.HTTPError:
                time.sleep(0.2)
                continue
            if answer.status_code != 503:
                return answer.json()
            time.sleep(0.2)
        raise AssertionError(f"{method} {path} was never answered")

    def until(self, check: Any, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if check():
                return True
            time.sleep(0.3)
        return False

    # What goes on

    def begin(self, number: int) -> None:
        kind = "browser" if self.random.random() < 0.2 else "container"
        holds = kind == "browser" or self.random.random() < 0.4
        name, service = ("web", "storm.web") if kind == "browser" else ("box", "storm.box")
        task = {
            "alias": "a",
            "goal": "go",
            "inputs": {"holds": holds, "url": self.url},
            "retry_policy": {"max_attempts": 30},
            "env_preconditions": {"required": True, "kind": kind, "resource_name": name},
        }
        body = {"dialect": "plan", "goal": "go", "plan": {"tasks": [task]}}
        told = self.ask(
            "POST",
            "/api/v1/runs",
            json={**body, "workerProfile": service},
            headers={"Idempotency-Key": f"storm-{number}"},
        )
        self.runs.append(told["id"])

    def answer_some(self) -> None:
        found = self.ask("GET", "/api/v1/checkpoints", params={"state": "open", "limit": 50})
        for item in found["items"]:
            if self.random.random() < 0.6:
                self.ask(
                    "POST", f"/api/v1/checkpoints/{item['id']}/resolve", json={"answer": "yes"}
                )

    def leases(self) -> int:
        return len({told["session"] for told in self.told() if told["what"] == "lease"})

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.effects.read_text().splitlines()]

    # Harm

    def strike(self) -> None:
        name = self.random.choice(("worker", "server", "host", "container", "browser", "container"))
        if name == "container":
            running = self.runtime.run("ps", "--quiet").split()
            if running:
                with contextlib.suppress(Exception):
                    self.runtime.run("kill", self.random.choice(running))
                    self.harm[name] += 1
        elif name == "browser":
            if found := self.browsers():
                with contextlib.suppress(psutil.Error):
                    self.random.choice(found).send_signal(signal.SIGKILL)
                    self.harm[name] += 1
        else:
            victims: dict[str, list[Process]] = {
                "worker": self.workers,
                "server": [self.server],
                "host": [self.host],
            }
            victim = self.random.choice(victims[name])
            victim.kill()
            self.harm[name] += 1
            time.sleep(self.random.uniform(0.1, 1.0))
            victim.start()

    def browsers(self) -> list[psutil.Process]:
        """The browsers of our own host, by their profile's folder."""
        mark = f"--user-data-dir={self.state}"
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                mine = any(word.startswith(mark) for word in words)
                if mine and not any(word.startswith("--type=") for word in words):
                    found.append(process)
        return found

    # The books

    def all_ended(self) -> bool:
        query: dict[str, Any] = {"q": "status:queued,running,waiting,cancelling", "limit": 1}
        headers = {"Accept": "application/vnd.windlass+json"}
        found = self.ask("GET", "/api/v1/runs", params=query, headers=headers)
        return not found["items"]

    def nothing_left(self) -> bool:
        sessions = self.ask("GET", "/api/v1/envs/sessions")["items"]
        containers = self.runtime.run("ps", "--all", "--quiet").split()
        return not sessions and not containers and not self.browsers()

    def failures(self) -> Counter[str]:
        """Why attempts were not the last of their task."""
        found: Counter[str] = Counter()
        for run_id in self.runs:
            items = self.ask("GET", f"/api/v1/runs/{run_id}/attempts")["items"]
            errors = [one["error"] for one in items if one.get("error")]
            found.update(f"{one['kind']}: {one['message'][:60]}" for one in errors)
        return found

    def problems(self) -> Iterator[str]:
        seen: defaultdict[str, dict[int, float]] = defaultdict(dict)
        told = self.told()
        for write in (one for one in told if one["what"] == "write"):
            first = seen[write["session"]]
            first[write["epoch"]] = min(first.get(write["epoch"], write["began"]), write["began"])
        for write in (one for one in told if one["what"] == "write"):
            later = [at for epoch, at in seen[write["session"]].items() if epoch > write["epoch"]]
            if later and write["began"] > min(later) + 0.5:
                yield f"a write of epoch {write['epoch']} counted in {write['session']}"
        for one in told:
            if one["what"] in ("kept", "restored") and not one["good"]:
                yield f"what was held is not as it was left: {one}"
        for run_id in self.runs:
            run = self.ask("GET", f"/api/v1/runs/{run_id}")
            if run["state"] != "succeeded":
                why = self.ask("GET", f"/api/v1/runs/{run_id}/why")["line"]
                yield f"run {run_id} is {run['state']}: {run['error'] or why}"


def rage(leases: int, seed: int, seconds: float) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as name,
        podman() as runtime,
        site() as url,
    ):
        os.environ["ENV_EFFECTS"] = str(Path(name) / "effects")
        storm = Storm(Path(name), runtime, url, seed)
        try:
            return _rage(storm, leases, seconds)
        finally:
            for process in storm.processes:
                process.kill()
            storm.http.close()
            for browser in storm.browsers():
                with contextlib.suppress(psutil.Error):
                    browser.kill()


def _rage(storm: Storm, leases: int, seconds: float) -> dict[str, Any]:
    storm.start()
    began = time.monotonic()
    next_strike = began + 2
    while storm.leases() < leases and time.monotonic() - began < seconds:
        open_runs = len(storm.runs) - storm.leases()
        if open_runs < 12:
            storm.begin(len(storm.runs))
        storm.answer_some()
        if time.monotonic() > next_strike:
            storm.strike()
            next_strike = time.monotonic() + storm.random.uniform(0.5, 3.0)
    raged = time.monotonic() - began

    def calm() -> bool:
        storm.answer_some()
        return storm.all_ended()

    problems = [] if storm.until(calm, CALM_S) else ["runs do not end"]
    calmed = time.monotonic() - began - raged
    if not storm.until(storm.nothing_left, 2 * TTL_S + 40):
        left = storm.ask("GET", "/api/v1/envs/sessions")["items"]
        told = [(one["kind"], one["state"], one["runId"]) for one in left]
        problems.append(f"left over: sessions {told}, {len(storm.browsers())} browsers")
    emptied = time.monotonic() - began - raged - calmed
    problems += storm.problems()
    restored = sorted(one["took"] for one in storm.told() if one["what"] == "restored")
    kept = [one for one in storm.told() if one["what"] == "kept"]
    return {
        "leases": storm.leases(),
        "runs": len(storm.runs),
        "raged_s": round(raged),
        "calm_after_s": round(calmed, 1),
        "empty_after_s": round(emptied, 1),
        "harm": dict(storm.harm),
        "holds": {"container": len(kept), "browser": len(restored)},
        "browser_restored_p95_s": round(restored[int(len(restored) * 0.95)], 2)
        if restored
        else None,
        "writes": sum(1 for one in storm.told() if one["what"] == "write"),
        "failures": dict(storm.failures().most_common(8)),
        "problems": problems,
    }


def p95(times: list[float]) -> float | None:
    return round(times[int(len(times) * 0.95)], 2) if times else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leases", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1_200)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    report = rage(given.leases, given.seed, given.seconds)
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 1 if report["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
