"""Handlers that are functions: async ones run on the loop, plain ones in a thread."""

# ruff: noqa: INP001  this folder is on the path itself, so it is no package

import asyncio
from typing import Any

from worker.execution import ExecutionContext


async def echo(context: ExecutionContext) -> dict[str, Any]:
    return {"outputs": {"echo": context.params.get("message", "")}}


def upper(context: ExecutionContext) -> dict[str, Any]:
    return {"status": "succeeded", "text": str(context.params["text"]).upper()}


async def fail(context: ExecutionContext) -> dict[str, Any]:
    reason = context.params.get("reason", "as asked")
    if context.params.get("how") == "raise":
        raise RuntimeError(reason)
    return {"status": "failed", "error": {"code": "E.TEXT.FAIL", "message": reason}}


async def slow(context: ExecutionContext) -> dict[str, Any]:
    seconds = float(context.params.get("seconds", 1))
    await asyncio.sleep(seconds)
    return {"outputs": {"seconds": seconds}}
