"""What clients are told of workers and of commands to them."""

from typing import Any

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.workers import LIVE, meta_of, state_of
from windlass.model.rows import Worker
from windlass.model.times import iso
from windlass.model.values import is_object
from windlass.protocol.link import messages as m
from windlass.server.commands import CommandNews
from windlass.server.worker_details import camel_heartbeat, packages_of

Told = tuple[str, str, dict[str, Any]]
"""The type of an event, the worker it is about, and what it says."""


def heartbeat_news(engine: Engine, worker: Worker) -> Told:
    meta = meta_of(worker)
    beat = meta.get("heartbeat")
    state = state_of(engine, worker)
    data = {
        "workerName": worker.id,
        "at": iso(worker.seen_at),
        "queues": msgspec.json.decode(worker.services, type=list[str]),
        "instanceId": meta.get("instanceId"),
        "hostname": meta.get("hostname"),
        "version": meta.get("version"),
        "connected": state in LIVE,
        "registered": state != "offline",
        "state": state,
        "packages": packages_of(meta),
        "heartbeat": camel_heartbeat(beat) if is_object(beat) else None,
    }
    return "worker.heartbeat", worker.id, data


def package_news(worker_id: str, event: m.PkgEvent) -> Told:
    details = event.details or {}
    removed = details.get("operation") == "uninstall" and event.status == "installed"
    data = {
        "workerName": worker_id,
        "package": event.name,
        "version": event.version,
        "status": "removed" if removed else event.status,
        "message": details.get("message"),
    }
    return "worker.package", worker_id, data


def command_news(news: CommandNews, now: int) -> Told:
    data: dict[str, Any] = {"commandId": news.command_id, "workerName": news.worker_id}
    if news.error:
        data["error"] = {"code": news.code, "message": news.error}
        return "command.error", news.worker_id, data
    data["receivedAt"] = iso(now)
    return "command.ack", news.worker_id, data
