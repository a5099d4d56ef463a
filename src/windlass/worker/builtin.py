"""The services every scheduler of this family has: small, pure, and good for trying things out.

They run on the event loop although they wait for nothing: a thread would cost more than the work.
"""

import logging
from typing import Any, TypeGuard

from windlass.worker.errors import ServiceError
from windlass.worker.registry import Worker

log = logging.getLogger(__name__)

worker = Worker()
local = Worker()
"""The functions a definition calls with `exec_type: local_func`."""


@worker.service("transform")
async def transform(input: Any, params: dict[str, Any]) -> Any:  # noqa: A002  the wire's name
    """Change the case of a text, or multiply a number."""
    if isinstance(input, str):
        match params.get("op"):
            case "upper":
                return input.upper()
            case "lower":
                return input.lower()
            case _:
                raise ServiceError("unsupported op")
    number = as_number(input)
    if number is None:
        raise ServiceError("bad input")
    return multiplied(number, params)


@worker.service("sum")
async def add_up(input: Any) -> int | float:  # noqa: A002
    """Add up a list; text that reads as a number counts, anything else does not."""
    if not is_list(input):
        raise ServiceError("bad input")
    numbers = (parsed(item) for item in input)
    return shortened(sum(number for number in numbers if number is not None))


@worker.service("route")
async def route(params: dict[str, Any]) -> dict[str, str]:
    """Name the action to follow."""
    action = params.get("action")
    return {"action": action if isinstance(action, str) and action else "goB"}


@worker.service("async-transform")
async def async_transform(input: Any, params: dict[str, Any]) -> str:  # noqa: A002
    """Put a text into capitals, under its title if it has one."""
    fields = input if is_object(input) else {}
    if isinstance(fields.get("text"), str):
        return f"[{fields.get('title', '')}] {fields['text'].upper()}"
    text = input if isinstance(input, str) else params.get("text")
    if not isinstance(text, str):
        raise ServiceError("bad input")
    return f"{text.upper()} (ASYNC PROCESSED)"


@worker.service("email-service")
async def email_service(params: dict[str, Any]) -> dict[str, Any]:
    """Say that a mail was sent; nothing is."""
    return {"status": "sent", "to": params.get("to")}


@local.service("mul")
async def mul(input: Any, params: dict[str, Any]) -> int | float:  # noqa: A002
    """Multiply a number; anything else counts as 0."""
    return multiplied(as_number(input) or 0, params)


@local.service("upper")
async def upper(input: Any, params: dict[str, Any]) -> str:  # noqa: A002
    """Put a text into capitals: the input, or else the parameter `text`."""
    text = input if isinstance(input, str) else params.get("text")
    if not isinstance(text, str):
        raise ServiceError("bad input")
    return text.upper()


@local.service("log_result")
async def log_result(input: Any) -> Any:  # noqa: A002
    """Note that a value came by, and hand it on; the value itself may be private."""
    log.info("log_result: a %s came by", type(input).__name__)
    return input


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def as_number(value: Any) -> int | float | None:
    """A JSON number, or None; true and false are no numbers."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def parsed(value: Any) -> int | float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return as_number(value)


def multiplied(number: float, params: dict[str, Any]) -> int | float:
    factor = as_number(params.get("mul", 1))
    if factor is None:
        raise ServiceError("bad input: mul is not a number")
    return shortened(number * factor)


def shortened(number: float) -> int | float:
    """A whole number as one: JSON readers should see 4, not 4.0."""
    whole = float(number).is_integer() and abs(number) < 2**53
    return int(number) if whole else number
