"""How a handler's end becomes an outcome: a result as JSON, or a fault in words."""

import logging
import traceback
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

import msgspec

from windlass.model.values import encoded
from windlass.protocol.exchange import Fault
from windlass.worker.answers import Asked, waiting, with_artifacts
from windlass.worker.context import Context, Stop
from windlass.worker.errors import Cancelled, PermanentError, ServiceError, TemporaryError

log = logging.getLogger(__name__)

MESSAGE_CHARS_MAX = 4000

_CALLING = frozenset({"windlass.worker.runtime", "concurrent.futures.thread"})


class Outcome(msgspec.Struct, frozen=True):
    """One of the two is there."""

    output: msgspec.Raw | None = None
    fault: Fault | None = None


@runtime_checkable
class _Dumps(Protocol):
    """What pydantic models look like to us; we need not depend on pydantic for it."""

    def model_dump(self, *, mode: str) -> Any: ...


def _plain(value: object) -> object:
    if isinstance(value, _Dumps):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def succeeded(value: object) -> Outcome:
    """The outcome of a handler that returned; not every value can travel."""
    try:
        return Outcome(output=msgspec.Raw(encoded(value, _plain)))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        text = f"the service returned a value that cannot be sent as JSON: {error}"
        return Outcome(fault=Fault(kind="fatal", message=text[:MESSAGE_CHARS_MAX]))


def returned(value: object, context: Context) -> Outcome:
    """The outcome of a handler that returned, with what it made on the way."""
    return succeeded(with_artifacts(value, context.artifacts))


def failed(error: BaseException, context: Context) -> Outcome:
    """The outcome of a handler that raised. Where it raised stays with the worker's own logs."""
    if isinstance(error, Asked):
        return succeeded(waiting(error, context.artifacts))
    if isinstance(error, Cancelled):
        return stopped(context)
    if not isinstance(error, ServiceError):
        trace = "".join(traceback.format_exception(type(error), error, _own_part(error)))
        context.log(trace, level="error")
        log.warning("attempt %s failed\n%s", context.attempt_id, trace)
    return Outcome(fault=_fault(error))


def _own_part(error: BaseException) -> TracebackType | None:
    """The trace from the handler's first line on: how it got called helps nobody."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _CALLING:
        trace = trace.tb_next
    return trace or error.__traceback__


def stopped(context: Context) -> Outcome:
    """The outcome of a handler that stopped because it was told to."""
    if context.stopped is Stop.TIMEOUT:
        return Outcome(fault=Fault(kind="timeout", message="the service ran out of time"))
    return Outcome(fault=Fault(kind="cancelled", message="the worker stopped the attempt"))


def _fault(error: BaseException) -> Fault:
    message = str(error)[:MESSAGE_CHARS_MAX]
    if isinstance(error, PermanentError):
        return Fault(kind="fatal", message=message or "the service failed for good")
    if isinstance(error, TemporaryError):
        after_s = error.retry_after_s
        wait_ms = None if after_s is None else max(0, round(after_s * 1000))
        return Fault(kind="failed", message=message or "failed for now", retry_after_ms=wait_ms)
    if isinstance(error, ServiceError):
        return Fault(kind="failed", message=message or "failed")
    name = type(error).__name__
    return Fault(kind="failed", message=f"{name}: {message}" if message else name)
