"""The handlers under chaos: each appends what it did to a file, as an outside effect would be."""

import os
import random
import time
from pathlib import Path
from typing import Any

from windlass.worker import Worker

worker = Worker()
_EFFECTS = Path(os.environ.get("EFFECTS", "/dev/null"))


def note(line: str) -> None:
    file = os.open(_EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


@worker.service("hold")
def hold(ctx: Any) -> str:
    """Goes on until somebody says stop."""
    note(f"holding {ctx.attempt_id}")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if ctx.cancelled:
            note(f"stopped {ctx.attempt_id}")
            ctx.check()
        time.sleep(0.02)
    return "nobody came"


@worker.service("effect")
def effect(ctx: Any, input: Any) -> dict[str, Any]:  # noqa: A002  the wire's name
    """Leave a trace, take a moment, give back what came in."""
    note(ctx.task_id or ctx.attempt_id)
    time.sleep(random.uniform(0, 0.02))
    return {"seen": input}
