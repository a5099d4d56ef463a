"""Services for tests: each writes a line when it begins, so effects can be counted."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from windlass.worker import Worker

worker = Worker()


def note(line: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(line + "\n")


@worker.service("step")
def step(ctx: Any, input: Any) -> Any:  # noqa: A002  the wire's name
    note(f"{ctx.task_id} {ctx.number}")
    time.sleep(0.01)
    return {"seen": input}


@worker.service("sleepy")
def sleepy(ctx: Any, params: dict[str, Any]) -> str:
    """Blocks its thread for a while, looking now and then whether it should stop."""
    note(f"{ctx.task_id} {ctx.number}")
    until = time.monotonic() + float(params.get("seconds", 1))
    while time.monotonic() < until:
        if ctx.cancelled:
            note(f"stopped {ctx.task_id}")
            ctx.check()
        time.sleep(0.02)
    return "slept"


@worker.service("acting")
async def acting(ctx: Any, params: dict[str, Any]) -> str:
    """Does something outside, for as long as it is told; its second try finds it done."""
    async with ctx.action("charge", "external_write", input={"try": ctx.number}) as action:
        note(f"charging {ctx.attempt_id}")
        await asyncio.sleep(float(params.get("seconds", 0)) if ctx.number == 1 else 0)
        action.output = {"charged": True}
    return "charged"
