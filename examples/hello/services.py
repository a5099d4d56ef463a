"""Two services as plain functions, hosted by `windlass worker services:worker`."""

# ruff: noqa: INP001

import asyncio

from windlass import Context, PermanentError, Worker

worker = Worker()


@worker.service("hello.greet")
async def greet(ctx: Context, name: str) -> str:
    """Greet one person. The lease is renewed for as long as this runs."""
    if not name:
        raise PermanentError("nobody to greet")  # no retry would help
    ctx.log(f"greeting {name}, attempt {ctx.number}")
    await asyncio.sleep(0.05)
    return f"Hello, {name}!"


@worker.service("hello.send", concurrency=1)
def send(greetings: list[str]) -> dict[str, int]:
    """Pretend to send the greetings. A plain function runs in a thread."""
    return {"sent": len(greetings)}
