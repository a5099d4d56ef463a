"""Handlers that are methods: the class is made once, so they share what it keeps."""

# ruff: noqa: INP001  this folder is on the path itself, so it is no package

import asyncio
from typing import Any

from shared.models.biz.exec.feedback import Channel
from worker.agent.runner import ExecutionContext


class Speaker:
    def __init__(self) -> None:
        self.calls = 0

    async def feedback(self, context: ExecutionContext) -> dict[str, Any]:
        words = str(context.params.get("text", "one two three")).split()
        for number, word in enumerate(words, start=1):
            await context.feedback.emit_text(
                word, channel=Channel.llm, stage="speaking", progress=number / len(words)
            )
            await asyncio.sleep(context.config.get("pause", 0))
        print(f"said {len(words)} words")  # noqa: T201  printed text becomes feedback
        return {"status": "succeeded", "words": len(words)}

    def count(self, _context: ExecutionContext) -> dict[str, Any]:
        self.calls += 1
        return {"calls": self.calls}
