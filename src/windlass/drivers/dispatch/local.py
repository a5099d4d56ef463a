"""Local functions: calls inside this process, by the name of their service."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from windlass.drivers.dispatch.runner import Done, Execute
from windlass.model.assignment import Assignment


def function(handler: Callable[..., Any], *, inline: bool = False) -> Execute:
    """Execute a function `(input, params) -> result`; a blocking one gets a thread."""

    async def execute(assignment: Assignment) -> Done:
        input_ = msgspec.json.decode(assignment.input)
        params = msgspec.json.decode(assignment.params)
        if inline:
            result = handler(input_, params)
        elif inspect.iscoroutinefunction(handler):
            result = await handler(input_, params)
        else:
            result = await asyncio.to_thread(handler, input_, params)
        return Done(msgspec.json.encode(result).decode())

    return execute
