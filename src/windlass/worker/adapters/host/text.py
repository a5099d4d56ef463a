"""How values and errors of a package become JSON and words."""

import dataclasses
import datetime
import enum
import json
import pathlib
import traceback
from collections.abc import Iterable
from typing import Any, cast

TRACE_CHARS_MAX = 16_000
MESSAGE_CHARS_MAX = 4000


_OURS = ("windlass.worker.adapters.host", "concurrent.futures")
_SEQUENCES = (set, frozenset, tuple)


def encoded(value: object) -> bytes:
    """A value as JSON; raises ValueError or TypeError for what has no JSON form."""
    text = json.dumps(
        value, default=_plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def _plain(value: Any) -> object:
    match value:
        case pathlib.PurePath():
            return str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case enum.Enum():
            return value.value
        case _ if isinstance(value, _SEQUENCES):
            return list(cast(Iterable[Any], value))
        case _ if hasattr(value, "model_dump"):
            return value.model_dump(mode="json")
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.asdict(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")


def message_of(error: BaseException) -> str:
    name, text = type(error).__name__, str(error)
    return f"{name}: {text}"[:MESSAGE_CHARS_MAX] if text else name


def trace_of(error: BaseException) -> str:
    """Where an error came from, from the package's first line on; how it got called is ours."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
    return "".join(lines)[-TRACE_CHARS_MAX:]
