"""The handlers under chaos: each appends what it did to a file, as an outside effect would be."""

import os
import random
import time
from pathlib import Path
from typing import Any

from windlass.worker import Worker

worker = Worker()
_EFFECTS = Path(os.environ.get("EFFECTS", "/dev/null"))


@worker.service("effect")
def effect(ctx: Any, input: Any) -> dict[str, Any]:  # noqa: A002  the wire's name
    """Leave a trace, take a moment, give back what came in."""
    line = f"{ctx.task_id or ctx.attempt_id}\n".encode()
    file = os.open(_EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line)
    finally:
        os.close(file)
    time.sleep(random.uniform(0, 0.02))
    return {"seen": input}
