"""A collector that kills itself at a named step: `python -m tests.integration.collector.dying`.

Nothing of it is in the product. Each step is entered by a wrapper around the real method, and the
process is gone by SIGKILL, as if the machine had been switched off in that line.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from windlass.cli.main import main
from windlass.collector.redis_sink import RedisSink
from windlass.collector.spool import Spool, SpooledEvent

STEPS = (
    "before-write",
    "in-write",
    "after-write",
    "half-published",
    "after-publish",
    "in-mark",
    "after-mark",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_at(step: str, call: int) -> None:
    """Arrange for the process to die at the given call of a step."""
    write, mark, publish = Spool.write, Spool.mark, RedisSink.publish
    left = {"write": call, "mark": call, "publish": call}

    def is_time(name: str, count: int) -> bool:
        if not count:
            return False  # a call that moves nothing is no step
        left[name] -= 1
        return left[name] == 0

    def dying_write(spool: Spool, batch: Any) -> Any:
        now = is_time("write", len(batch.events))
        if now and step == "before-write":
            die()
        if now and step == "in-write":
            die_before_commit(spool)
        added = write(spool, batch)
        if now and step == "after-write":
            die()
        return added

    def dying_mark(spool: Spool, events: Any) -> None:
        now = is_time("mark", len(events))
        if now and step == "in-mark":
            die_before_commit(spool)
        mark(spool, events)
        if now and step == "after-mark":
            die()

    async def dying_publish(sink: RedisSink, events: Sequence[SpooledEvent]) -> Any:
        now = is_time("publish", len(events))
        if now and step == "half-published":
            await publish(sink, events[: (len(events) + 1) // 2])
            die()
        refused = await publish(sink, events)
        if now and step == "after-publish":
            die()
        return refused

    patched: list[tuple[Any, str, Callable[..., Any]]] = [
        (Spool, "write", dying_write),
        (Spool, "mark", dying_mark),
        (RedisSink, "publish", dying_publish),
    ]
    for owner, name, function in patched:
        setattr(owner, name, function)


def die_before_commit(spool: Spool) -> None:
    """Kill the process when the open transaction is to be committed."""
    spool._db.set_trace_callback(lambda text: die() if text == "commit" else None)


if __name__ == "__main__":
    dying_at(os.environ["DIE_AT"], int(os.environ.get("DIE_AT_CALL", "1")))
    sys.argv[0] = "windlass"
    main()
