"""Operations that take several calls: waiting for a run, and starting a flow written in Python."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from windlass.client import calls
from windlass.client.calls import Compiles
from windlass.client.durations import Duration, seconds
from windlass.client.errors import RunCancelled, RunFailed, WaitTimeout
from windlass.client.requests import Pause, Script
from windlass.client.shapes import RunInfo
from windlass.model.errors import Unavailable
from windlass.model.states import RunState

POLL_S_MAX = 20.0


def start(
    flow: str | Compiles,
    params: object = None,
    *,
    key: str = "",
    version: int | None = None,
    tags: Mapping[str, str] | None = None,
    priority: int = 0,
    budget: Mapping[str, Any] | None = None,
    project: str = "",
) -> Script[RunInfo]:
    """Start a run of a published flow, or publish a Flow and start it.

    Publishing what is already the newest version changes nothing, so this may be repeated; the same
    `key` again finds the run it started before.
    """
    name = flow if isinstance(flow, str) else flow.name
    if not isinstance(flow, str) and version is None:
        version = (yield calls.publish(flow)).version
    run: RunInfo = yield calls.start(
        name,
        params,
        key=key,
        version=version,
        tags=tags,
        priority=priority,
        budget=budget,
        project=project,
    )
    return run


def wait(
    run_id: str, timeout: Duration | None = None, clock: Callable[[], float] = time.monotonic
) -> Script[RunInfo]:
    """Wait until a run has ended, through restarts of the server; WaitTimeout if it does not."""
    until = float("inf") if timeout is None else clock() + seconds(timeout)
    state = "unknown"
    while True:
        asked_at = clock()
        left_s = max(0.0, until - asked_at)
        try:
            run: RunInfo = yield calls.get_run(run_id, round(min(POLL_S_MAX, left_s) * 1000))
        except Unavailable as error:
            if clock() + error.retry_after_s >= until:
                raise
            yield Pause(error.retry_after_s)
            continue
        if run.ended:
            return run
        state = run.state
        if clock() >= until:
            raise WaitTimeout(run_id, state)
        if clock() - asked_at < 0.05:  # a server that does not wait must not be hammered
            yield Pause(min(0.2, max(0.0, until - clock())))


def result(
    run_id: str, timeout: Duration | None = None, clock: Callable[[], float] = time.monotonic
) -> Script[dict[str, Any]]:
    """The values a run's tasks shared, once it has succeeded; else RunFailed or RunCancelled."""
    run = yield from wait(run_id, timeout, clock)
    if run.state == RunState.FAILED:
        raise RunFailed(run)
    if run.state == RunState.CANCELLED:
        raise RunCancelled(run)
    return run.shared or {}
