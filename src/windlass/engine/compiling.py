"""Lowering definitions without holding up everybody else: large ones in a thread of their own."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from windlass.dialects.flow import read_definition

T = TypeVar("T")

INLINE_BYTES = 16 * 1024
"""Up to this size lowering takes two or three milliseconds, which a thread would not shorten."""


async def off_loop(work: Callable[[], T], size_bytes: int) -> T:
    """Do something that takes as long as its input is large."""
    return work() if size_bytes <= INLINE_BYTES else await asyncio.to_thread(work)


async def compiled(definition: object, work: Callable[[], T]) -> T:
    """Check or lower a definition, which nobody has measured yet."""
    try:
        size_bytes = len(msgspec.json.encode(definition))
    except (TypeError, ValueError, RecursionError):
        size_bytes = 0  # no plain JSON at all, which is the first thing that is looked at
    return await off_loop(work, size_bytes)


async def read_text(text: str, *, yaml: bool) -> object:
    """The value a definition's text stands for. YAML is always read in a thread: a few hundred
    bytes with aliases stand for as many values as there may be."""
    if yaml:
        return await asyncio.to_thread(read_definition, text, yaml=True)
    return await off_loop(lambda: read_definition(text, yaml=False), len(text))
