"""Runs the calls a worker sends: coroutines on the loop, plain functions in threads."""

import asyncio
import contextvars
import itertools
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from windlass.worker.adapters.host import outcomes
from windlass.worker.adapters.host.ask import Ask
from windlass.worker.adapters.host.capture import PENDING_CHARS_MAX, current
from windlass.worker.adapters.host.context import Cancelled, ExecutionContext, NextError
from windlass.worker.adapters.host.desk import DeskError
from windlass.worker.adapters.host.env import Env, EnvError
from windlass.worker.adapters.host.feedback import FeedbackPublisher
from windlass.worker.adapters.host.frames import framed
from windlass.worker.adapters.host.link import Link
from windlass.worker.adapters.host.loading import Handler, Loader
from windlass.worker.adapters.host.registry import Objects, ResourceHandle, ResourceRegistry
from windlass.worker.adapters.host.text import encoded

THREADS_MAX = 256


class RunningCall:
    """One call under way, and what its handler has written so far."""

    def __init__(self, calls: "Calls", message: dict[str, Any]) -> None:
        self.id: int = message["id"]
        self.message = message
        self.task: asyncio.Task[None] | None = None
        self.in_thread = False
        self.context: ExecutionContext | None = None
        self._calls = calls
        self._lock = threading.Lock()
        self._written: list[tuple[str, str, str]] = []
        self._chars = 0

    def wrote(self, channel: str, text: str, level: str = "") -> None:
        """Keep what the handler wrote until the loop has a moment to send it."""
        with self._lock:
            first = not self._written
            if self._chars > PENDING_CHARS_MAX:
                return
            self._chars += len(text)
            if self._chars > PENDING_CHARS_MAX:
                text = "… (output is left out: too much at once)\n"
            self._written.append((channel, level, text))
        if first:
            self._calls.soon(self.flush)

    def flush(self) -> None:
        with self._lock:
            written, self._written = self._written, []
            self._chars = 0
        chunks: list[dict[str, Any]] = []
        for channel, level, text in _joined(written):
            # Half a surrogate has no JSON form, and a print must never fail a call.
            shown = text.encode(errors="replace").decode()
            if shown.strip():
                chunk: dict[str, Any] = {"channel": channel, "text": shown}
                chunks.append({**chunk, "metadata": {"level": level}} if level else chunk)
        if chunks:
            self.post({"chunks": chunks})

    def post(self, body: dict[str, Any]) -> None:
        message = {"t": "feedback", "id": self.id, "body": body}
        self._calls.link.post(message, may_drop=True)


def _joined(written: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Texts of a channel in one; records, which have a level, each for itself."""
    for (channel, is_record), found in itertools.groupby(written, lambda w: (w[0], bool(w[1]))):
        if is_record:
            yield from found
        else:
            yield channel, "", "".join(text for *_, text in found)


class Calls:
    """Everything that runs in this host. Belongs to its loop."""

    def __init__(self, settings: dict[str, Any], link: Link, ask: Ask, objects: Objects) -> None:
        self.link = link
        self._settings = settings
        self._ask = ask
        self._objects = objects
        self._folder = Path(settings["folder"])
        self._data_dir = Path(settings["data_dir"])
        self._loader = Loader(self._folder, settings["entries"])
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="handler")
        self._running: dict[int, RunningCall] = {}
        self._questions = itertools.count(1)
        self._asked: dict[int, tuple[asyncio.Future[Any], type[Exception]]] = {}
        """What the worker was asked, and how a handler is told that it said no."""

    def soon(self, act: Any) -> None:
        self._loop.call_soon_threadsafe(act)

    def start(self, message: dict[str, Any]) -> None:
        call = RunningCall(self, message)
        self._running[call.id] = call
        call.task = self._loop.create_task(self._run(call))

    def cancel(self, call_id: int) -> None:
        """Tell a handler to stop; one in a thread has to look for itself."""
        call = self._running.get(call_id)
        if call is None or call.task is None:
            return
        if call.context is not None:
            call.context.cancelled = True
        if not call.in_thread:
            call.task.cancel()

    def answered(self, message: dict[str, Any]) -> None:
        """The answer to a question."""
        waiting, refused = self._asked.pop(message["n"], (None, Exception))
        if waiting is None or waiting.done():
            return
        if "error" in message:
            waiting.set_exception(refused(message["error"]))
        else:
            waiting.set_result(message["value"])

    async def close(self) -> None:
        """Cancel what runs, and give it a moment."""
        tasks = [call.task for call in self._running.values() if call.task is not None]
        for call_id in list(self._running):
            self.cancel(call_id)
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)

    async def _run(self, call: RunningCall) -> None:
        try:
            outcome = await self._outcome(call)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001
            outcome = outcomes.raised(error)
        finally:
            self._running.pop(call.id, None)
        call.flush()
        self.link.post_frame(_done_frame(call.id, outcome))

    async def _outcome(self, call: RunningCall) -> dict[str, Any]:
        current.set(call)
        try:
            handler = self._loader.handler(call.message["type"])
            context = call.context = self._context(call, handler)
            return outcomes.returned(await self._invoke(call, handler, context))
        except (asyncio.CancelledError, Cancelled):
            return outcomes.cancelled()

    async def _invoke(self, call: RunningCall, handler: Handler, context: ExecutionContext) -> Any:
        if not handler.in_thread:
            found = handler.call(context)
            return await found if handler.is_async or _awaitable(found) else found
        call.in_thread = True
        variables = contextvars.copy_context()
        found = await self._loop.run_in_executor(
            self._threads, lambda: variables.run(_in_thread, handler, context)
        )
        call.in_thread = False
        return await found if _awaitable(found) else found

    def _context(self, call: RunningCall, handler: Handler) -> ExecutionContext:
        message, settings = call.message, self._settings
        run_id = message["run_id"]
        leased = message.get("leased") or ()
        chained, told = bool(message.get("next")), message.get("env")
        return ExecutionContext(
            run_id=run_id,
            task_id=message["task_id"],
            node_id=message["node_id"],
            node_type=message["type"],
            package_name=settings["package"],
            package_version=settings["version"],
            params=message["params"],
            data_root=self._data_dir,
            package_dir=self._folder,
            tenant=message["tenant"],
            config=handler.config,
            metadata=message.get("metadata"),
            resource_refs=message.get("resource_refs"),
            resource_registry=ResourceRegistry(
                self._ask, self._objects, settings["worker_id"], self._data_dir, run_id
            ),
            leased_resources={item["resource_id"]: ResourceHandle(item) for item in leased},
            feedback=FeedbackPublisher(call.post, self.link.drained),
            host_node_id=message.get("host_node_id"),
            middleware_chain=message.get("middleware_chain"),
            chain_index=message.get("chain_index"),
            next_handler=partial(self._next, call) if chained else None,
            next_blocking=partial(self._next_blocking, call) if chained else None,
            env=Env(partial(self._ask_env, call), told) if told else None,
            desk=partial(self._ask_desk, call) if message.get("desk") else None,
        )

    async def _next(self, call: RunningCall, fields: dict[str, Any]) -> dict[str, Any]:
        question = {"t": "next", "id": call.id, "fields": fields}
        answer: dict[str, Any] = await self._ask_worker(question, NextError)
        return answer

    def _next_blocking(self, call: RunningCall, fields: dict[str, Any]) -> dict[str, Any]:
        waiting = asyncio.run_coroutine_threadsafe(self._next(call, fields), self._loop)
        answer: dict[str, Any] = waiting.result()
        return answer

    def _ask_env(self, call: RunningCall, op: str, fields: dict[str, Any]) -> Any:
        if threading.get_ident() == self._thread:
            raise EnvError(
                f"here it would wait for itself: await asyncio.to_thread(ctx.env.{op}, …)"
            )
        return self._ask_and_wait("env", call, op, fields, EnvError)

    def _ask_desk(self, call: RunningCall, op: str, fields: dict[str, Any]) -> Any:
        if threading.get_ident() == self._thread:
            way = "async with" if op in ("begin", "end") else "await asyncio.to_thread(…)"
            raise DeskError(f"here it would wait for itself: use {way}")
        return self._ask_and_wait("desk", call, op, fields, DeskError)

    def _ask_and_wait(
        self,
        whom: str,
        call: RunningCall,
        op: str,
        fields: dict[str, Any],
        refused: type[Exception],
    ) -> Any:
        question = {"t": whom, "id": call.id, "op": op, "fields": fields}
        asking = self._ask_worker(question, refused)
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result()

    async def _ask_worker(self, question: dict[str, Any], refused: type[Exception]) -> Any:
        if asyncio.get_running_loop() is not self._loop:  # a coroutine that runs in a thread
            asking = self._ask_worker(question, refused)
            there = asyncio.run_coroutine_threadsafe(asking, self._loop)
            return await asyncio.wrap_future(there)
        number = next(self._questions)
        waiting: asyncio.Future[Any] = self._loop.create_future()
        self._asked[number] = (waiting, refused)
        self.link.post({**question, "n": number})
        try:
            return await waiting
        finally:
            self._asked.pop(number, None)


def _in_thread(handler: Handler, context: ExecutionContext) -> Any:
    context.check()  # it may have waited for a thread until nobody wants it any more
    found = handler.call(context)
    return asyncio.run(found) if handler.is_async else found


def _awaitable(value: Any) -> bool:
    return hasattr(value, "__await__")


def _done_frame(call_id: int, outcome: dict[str, Any]) -> bytes:
    """The frame that ends a call; a value that cannot travel becomes a failure that can."""
    try:
        return framed(encoded({"t": "done", "id": call_id, **outcome}))
    except (TypeError, ValueError, RecursionError) as error:
        text = f"the handler returned something that cannot be sent as JSON: {error}"
        return framed(encoded({"t": "done", "id": call_id, **outcomes.failure(text[:2000])}))
