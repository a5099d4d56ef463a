"""Whether a message can travel.

The server ends the connection over a frame that is too large or nested too deeply, and a report is
sent again on every new one. So whatever a handler had a say in is measured before it is sent.
"""

from typing import Literal

import msgspec
from msgspec.structs import replace

from windlass.model.values import DEPTH_MAX, depth_of
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import PAYLOAD_BYTES_MAX, encode
from windlass.worker.outcome import MESSAGE_CHARS_MAX

_EMPTY = msgspec.Raw(b"{}")

Status = Literal["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"]


def flaw(message: m.Message) -> str:
    """Why a message cannot travel; "" if it can."""
    try:
        text = encode(message)
        text.decode()
    except (UnicodeError, ValueError, TypeError, OverflowError, RecursionError) as error:
        return f"it cannot be written as JSON: {error}"
    if len(text) > PAYLOAD_BYTES_MAX:
        return f"it has {len(text)} bytes, and a frame carries {PAYLOAD_BYTES_MAX}"
    # The envelope is one level more.
    if depth_of(b'{"payload":%b}' % text) > DEPTH_MAX:
        return f"it is nested deeper than the {DEPTH_MAX} levels of a frame"
    return ""


def fitting(result: m.Result) -> m.Result:
    """The result, or what is left of it that can travel: at least how it ended, and why."""
    if result.error is not None:
        result = replace(result, error=_short(result.error))
    why = flaw(result)
    if not why:
        return result
    if result.error is None or result.status in ("SUCCEEDED", "SKIPPED"):
        text = f"the result cannot be sent: {why}; keep it as a resource"
        error = m.ErrorField(code=codes.RESULT_TOO_LARGE, message=text)
        return _bare(result, "FAILED", error)
    # What went wrong matters more than what was said beside it.
    return _bare(result, result.status, replace(result.error, details=None))


def said(text: str) -> str:
    """A message of bounded length, of characters that can be written."""
    clean = text[: MESSAGE_CHARS_MAX + 1].encode("utf-8", "replace").decode()
    return clean if len(clean) <= MESSAGE_CHARS_MAX else f"{clean[: MESSAGE_CHARS_MAX - 1]}…"


def _bare(result: m.Result, status: Status, error: m.ErrorField) -> m.Result:
    return m.Result(
        run_id=result.run_id,
        task_id=result.task_id,
        status=status,
        result=_EMPTY,
        duration_ms=result.duration_ms,
        error=error,
    )


def _short(error: m.ErrorField) -> m.ErrorField:
    remediation = None if error.remediation is None else said(error.remediation)
    return replace(
        error, code=said(error.code), message=said(error.message), remediation=remediation
    )
