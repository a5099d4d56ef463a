"""Services that work in environments: a small program in a container, a page in a browser."""

from typing import Any

from windlass import Context, Worker

worker = Worker()
RESUME = {"resume_mode": "resume_held_env"}


@worker.service("box.count")
def count(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002  the wire's name
    """Count the words of a text with the container's own tools."""
    ctx.env.write("text.txt", input["text"])
    done = ctx.env.exec("wc -w < text.txt")
    return {"words": int(done.out)}


@worker.service("web.show")
async def show(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    """Show the count in a browser, and read what a person would."""
    async with ctx.env.browser() as page:
        await page.goto(f"data:text/html,<title>Words</title><h1>{input['words']} words</h1>")
        return {"title": await page.title(), "heading": await page.inner_text("h1")}


@worker.service("box.draft")
def draft(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    """Write a draft into the container, ask whether it will do, and go on in the same container."""
    if not brief["answers"]:
        ctx.env.write("draft.txt", "a first draft")
        asked = {
            "question": "Will this do?",
            "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
            "resume_policy": RESUME,
        }
        return {"status": "waiting", "summary": "a draft is written", "checkpoint": asked}
    kept = ctx.env.read("draft.txt").decode()
    told = {"draft": kept, "answer": brief["answers"][-1]["option_id"]}
    return {"status": "completed", "summary": "the draft is done", "structured_output": told}


@worker.service("web.publish")
async def publish(ctx: Context, brief: dict[str, Any]) -> dict[str, Any]:
    """Show what came before in a browser."""
    told = brief["predecessors"][0]["structured_output"]
    async with ctx.env.browser() as page:
        await page.goto(f"data:text/html,<p>{told['draft']}</p>")
        seen = await page.inner_text("p")
    return {"status": "completed", "summary": seen, "structured_output": {"seen": seen}}
