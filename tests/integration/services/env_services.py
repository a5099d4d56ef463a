"""Services that work in environments: a counter in a container, a visitor in a browser."""

from typing import Any

from windlass import Context, Worker

worker = Worker()
RESUME = {"resume_mode": "resume_held_env"}


@worker.service("box.look")
def look(ctx: Context) -> dict[str, Any]:
    """What a container lets its holder do."""
    who = ctx.env.exec("id -u; cat /proc/net/route | wc -l; ls /var/run/docker.sock /run/podman")
    ctx.env.write("made/note.txt", "written")
    said = ctx.env.exec(["cat", "made/note.txt"], workdir="/workspace")
    return {
        "who": who.out.split(),
        "said": said.out,
        "read": ctx.env.read("made/note.txt").decode(),
    }


@worker.service("box.visits")
def count(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    """Count how often it was here, and ask in between."""
    done = ctx.env.exec("n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; cat n")
    if brief["answers"]:
        large = b"x" * 3_000_000
        ctx.env.write("large", large)
        assert ctx.env.read("large") == large, "more than one frame of a socket bears"
        return {"status": "completed", "summary": done.out, "structured_output": {"n": done.out}}
    asked = {"question": "Once more?", "resume_policy": RESUME}
    return {"status": "waiting", "summary": "?", "checkpoint": asked}


@worker.service("web.visit")
async def visit(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    """Leave something in a browser, ask, and find it again."""
    async with ctx.env.browser() as page:
        if not brief["answers"]:
            await page.goto(brief["task"]["inputs"]["url"])
            await page.evaluate("localStorage.setItem('seen', 'page 3')")
            asked = {"question": "Once more?", "resume_policy": RESUME}
            return {"status": "waiting", "summary": "?", "checkpoint": asked}
        found = await page.evaluate(
            "[location.href, localStorage.getItem('seen'), document.cookie]"
        )
    return {"status": "completed", "summary": "found", "structured_output": {"found": found}}
