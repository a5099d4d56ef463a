"""A thread that does one thing after the other for an event loop.

An executor of the standard library does the same by way of two futures, a condition and their
locks, which costs an idle system more than the statement that is to be done.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_Told = Callable[[Any, BaseException | None], object]


class WorkThread:
    """Does what it is given in the order it is given it."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[tuple[Callable[[], Any], _Told] | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], T]) -> T:
        """Have something done, if whoever asks is still there when its turn comes."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def unless_gone() -> T:
            if answer.cancelled():
                raise asyncio.CancelledError
            return work()

        def told(result: T, error: BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # nobody is there any more
                loop.call_soon_threadsafe(_answer, answer, result, error)

        self._put(unless_gone, told)
        return await answer

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """The same for another thread."""
        answer: Future[T] = Future()

        def told(result: T, error: BaseException | None) -> None:
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        self._put(work, told)
        return answer

    def close(self) -> None:
        """Do what is left, then end."""
        self._closed = True
        self._work.put(None)
        self._thread.join()

    def _put(self, work: Callable[[], Any], told: _Told) -> None:
        if self._closed:
            raise RuntimeError(f"{self._thread.name} has ended")
        self._work.put((work, told))

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            work, told = item
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  # whoever asked for it hears of it
                told(None, error)
            else:
                told(result, None)
                del result
            del item, work, told


def _answer(answer: "asyncio.Future[T]", result: T, error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
