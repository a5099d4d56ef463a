"""What a worker and its hosts say to each other, as the worker reads and writes it."""

from typing import Any

import msgspec


class Open(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="open"):
    """The first message to a host: which package it is for."""

    package: str
    version: str
    folder: str
    data_dir: str
    worker_id: str
    entries: list[Any]


class RunHandler(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="call"):
    """Run a handler."""

    id: int
    type: str
    run_id: str
    task_id: str
    node_id: str
    tenant: str
    params: msgspec.Raw
    metadata: dict[str, Any]
    resource_refs: list[Any]
    leased: list[Any]
    host_node_id: str | None
    middleware_chain: list[str] | None
    chain_index: int | None
    next: bool
    env: dict[str, Any] | None = None
    desk: bool = False


class Cancel(msgspec.Struct, frozen=True, tag_field="t", tag="cancel"):
    id: int


class Evict(msgspec.Struct, frozen=True, tag_field="t", tag="evict"):
    id: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="answer"):
    """What came of a question."""

    n: int
    value: Any | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET


class Ready(msgspec.Struct, frozen=True, tag_field="t", tag="ready"):
    """A host has opened its package."""


class HandlerError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a call failed."""

    code: str
    message: str
    remediation: str | None = None
    details: dict[str, Any] | None = None


class Done(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="done"):
    """How a call ended."""

    id: int
    status: str
    result: msgspec.Raw
    metadata: dict[str, Any] = {}
    artifacts: list[dict[str, Any]] = []
    error: HandlerError | None = None


class Lost(Done, frozen=True, kw_only=True, tag="lost"):
    """A call that ended with its host, which says nothing about the work. No host can send it."""


class Feedback(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="feedback"):
    id: int
    body: dict[str, Any]


class Next(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="next"):
    """A handler asks for the rest of its middleware chain."""

    id: int
    n: int
    fields: dict[str, Any]


class InEnv(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="env"):
    """A handler asks something of its environment."""

    id: int
    n: int
    op: str
    fields: dict[str, Any]


class AtDesk(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="desk"):
    """A handler tells the server something beside its result, or reads what others did."""

    id: int
    n: int
    op: str
    fields: dict[str, Any]


ToHost = Open | RunHandler | Cancel | Evict | Answer
FromHost = Ready | Done | Feedback | Next | InEnv | AtDesk
