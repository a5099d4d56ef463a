"""Simulated processes: they crash without a word, pause, and go on."""

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any

from windlass.testing.simulator.loop import OWNER, VirtualHandle, VirtualLoop


class Process:
    """One life of a process: what it started ends with it, cleanup included."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        self._loop = loop
        self.name = name
        self.alive = True
        self._paused = False
        self._kept: list[VirtualHandle] = []
        self.tasks: list[asyncio.Task[Any]] = []

    def spawn(self, coro: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Start something inside this process, whoever asks for it."""
        context = contextvars.copy_context()
        context.run(OWNER.set, self)
        return self._loop.create_task(coro, context=context)

    def adopt(self, task: "asyncio.Task[Any]") -> None:
        self.tasks.append(task)

    def admits(self, handle: VirtualHandle) -> bool:
        if self.alive and not self._paused:
            return True
        if self.alive:
            self._kept.append(handle)
        return False

    def crash(self) -> None:
        """Everything stops where it stands; nothing is cleaned up or told to anybody."""
        self.alive = False
        self._kept.clear()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        kept, self._kept = self._kept, []
        self._loop.again(kept)


def outside() -> contextvars.Context:
    """A context that belongs to no process: what the network and the database do."""
    context = contextvars.copy_context()
    context.run(OWNER.set, None)
    return context
