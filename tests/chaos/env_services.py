"""Services of the environments' storm: each tells a file what it was allowed to do, and when."""

import asyncio
import json
import os
import threading
import time
from typing import Any

from windlass import Context, Worker
from windlass.model.errors import WindlassError

worker = Worker()
RESUME = {"resume_mode": "resume_held_env"}
_LINGERS_S = 6.0


def note(**told: Any) -> None:
    line = json.dumps(told) + "\n"
    descriptor = os.open(os.environ["ENV_EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def linger(ctx: Context) -> None:
    """Go on writing for a while as one who does not know that he has lost his place."""

    def go_on() -> None:
        until = time.monotonic() + _LINGERS_S
        while time.monotonic() < until:
            began = time.time()
            try:
                ctx.env.write("holder", str(ctx.env.epoch))
            except WindlassError:
                return
            note(what="write", session=ctx.env.session_id, epoch=ctx.env.epoch, began=began)
            time.sleep(0.3)

    threading.Thread(target=go_on, daemon=True).start()


def asks(brief: dict[str, Any]) -> dict[str, Any] | None:
    """The question a first attempt ends with; None for the one after it."""
    if brief["answers"]:
        return None
    asked = {"question": "Go on?", "resume_policy": RESUME}
    return {"status": "waiting", "summary": "?", "checkpoint": asked}


@worker.service("storm.box")
def box(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    note(what="lease", session=ctx.env.session_id, kind="container")
    linger(ctx)
    asked = asks(brief) if brief["task"]["inputs"].get("holds") else None
    if asked is not None:
        ctx.env.write("kept", "still here")
        return asked
    if ctx.env.epoch > 1:  # else the place it was held in is gone, with the attempt that had it
        note(what="kept", good=ctx.env.read("kept") == b"still here", session=ctx.env.session_id)
    done = ctx.env.exec("sleep 0.2; echo done")
    return {"status": "completed", "summary": done.out, "structured_output": {}}


@worker.service("storm.web")
async def web(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    note(what="lease", session=ctx.env.session_id, kind="browser")
    began = time.monotonic()
    async with ctx.env.browser() as page:
        url = brief["task"]["inputs"]["url"]
        if ctx.env.epoch == 1:
            await page.goto(url)
            await page.evaluate("localStorage.setItem('kept', 'still here')")
            done = {"status": "completed", "summary": "seen", "structured_output": {}}
            return asks(brief) or done
        script = "[location.href, localStorage.getItem('kept'), document.cookie]"
        found = await page.evaluate(script)
    took = time.monotonic() - began
    good = found == [url, "still here", "who=me"]
    await asyncio.to_thread(
        note, what="restored", good=good, took=took, session=ctx.env.session_id, found=found
    )
    return {"status": "completed", "summary": "found", "structured_output": {}}
