"""A service that listens to a command in its container."""

import time
from typing import Any

from windlass import Context, Worker

worker = Worker()


@worker.service("box.loud")
def loud(ctx: Context) -> dict[str, Any]:
    """Hear what a command says while it runs."""
    heard: list[tuple[float, str, str]] = []

    def hear(stream: str, text: str) -> None:
        heard.append((time.monotonic(), stream, text))

    done = ctx.env.exec("echo one; sleep 1; echo two; echo three >&2; exit 3", on_output=hear)
    first = min(at for at, _, text in heard if "one" in text)
    second = min(at for at, _, text in heard if "two" in text)
    said = {name: "".join(text for _, of, text in heard if of == name) for name in ("out", "err")}
    return {"code": done.code, "kept": [done.out, done.err], **said, "gap_s": second - first}
