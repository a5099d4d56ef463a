"""An agent for tests: every call uses as much."""

import time

from windlass.worker import Context, Worker

worker = Worker()


@worker.service("agent")
def agent(ctx: Context) -> str:
    time.sleep(0.02)
    ctx.report_usage(tokens=4, money=0.25)
    ctx.report_usage(tokens=6)
    return "done"
