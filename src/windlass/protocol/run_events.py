"""Events of runs as they travel on a bus.

The subject is `PREFIX.run.event.RUN.TYPE`: whoever wants one run, or one kind of event, says so in
the subscription. The envelope's fields are Memoh's; `tenant` is ours.
"""

import re
from typing import Any

import msgspec

PREFIX = "windlass"
_NOT_IN_A_WORD = re.compile(r"[.*>\s]")


class RunEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One event. It may come more than once, with the same `event_id`."""

    schema_version: int
    event_id: str
    run_id: str
    tenant: str
    seq: int
    """Its place in the run: 1, 2, 3, …"""
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    type: str
    correlation_id: str
    created_at: str
    published_at: str
    task_id: str | None = None
    payload: Any = None
    payload_omitted: bool = False
    """It is too large for a bus; the run's events over HTTP have it."""


def word(text: str) -> str:
    """Text as one word of a subject."""
    return _NOT_IN_A_WORD.sub("_", text) or "_"


def subject(prefix: str, run_id: str, type_: str) -> str:
    return f"{prefix}.run.event.{word(run_id)}.{word(type_)}"
