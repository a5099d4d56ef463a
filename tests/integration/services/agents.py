"""Services for tests: an agent whose calls use as much each, and one that fails when told to."""

import time
from typing import Any

from windlass.worker import Context, Worker

worker = Worker()


@worker.service("agent")
def agent(ctx: Context) -> str:
    time.sleep(0.02)
    ctx.report_usage(tokens=4, money=0.25)
    ctx.report_usage(tokens=6)
    return "done"


@worker.service("fragile")
def fragile(params: dict[str, Any]) -> str:
    if params.get("fails"):
        raise RuntimeError("out of order")
    return "done"
