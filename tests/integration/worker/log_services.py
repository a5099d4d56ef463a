"""A worker for tests that says what it is told to, line by line, by files."""

import time
from pathlib import Path
from typing import Any

from windlass import Context, Worker

worker = Worker()


@worker.service("talk")
def talk(ctx: Context, input: dict[str, Any]) -> str:  # noqa: A002  what services call it
    """Log each line that is appended to the task's file: `level|text`, until one is `end`."""
    told = Path(input["folder"]) / input["name"]
    done = 0
    while True:
        ctx.check()
        lines = told.read_text().split("\n")[:-1] if told.exists() else []
        for line in lines[done:]:
            if line == "end":
                return "said"
            level, _, text = line.rpartition("|")
            ctx.log(text.replace("\\n", "\n"), level=level)
        done = max(done, len(lines))
        time.sleep(0.02)


@worker.service("stumble")
def stumble(ctx: Context) -> str:
    """Fail at first, then succeed, each time after a word."""
    ctx.log(f"try {ctx.number}", level="info")
    if ctx.number == 1:
        raise KeyError("no such thing")
    return "ok"
