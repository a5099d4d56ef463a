"""Names of ready queues.

`<transport>:<service>` is open to everybody who serves it; `link@<worker>:<service>` only to that
worker. What a tenant other than `default` queues has its name behind the transport's:
`<transport>+<tenant>:<service>`, `link+<tenant>@<worker>:<service>`.
"""

from functools import lru_cache
from urllib.parse import quote, unquote

from windlass.model.tenants import DEFAULT


def own_queue(worker_id: str, service: str) -> str:
    """The queue only one worker serves."""
    return f"link@{quote(worker_id, safe='')}:{service}"


def tenant_queue(queue: str, tenant: str) -> str:
    """A queue of everybody's as a tenant has it."""
    if tenant == DEFAULT:
        return queue
    head, _, service = queue.partition(":")
    transport, at, worker = head.partition("@")
    return f"{transport}+{tenant}{at}{worker}:{service}"


@lru_cache(maxsize=65_536)
def tenant_of(queue: str) -> str:
    """Whose tasks a queue holds."""
    return queue.partition(":")[0].partition("@")[0].partition("+")[2] or DEFAULT


@lru_cache(maxsize=65_536)
def transport_of(queue: str) -> str:
    return queue.partition(":")[0].partition("@")[0].partition("+")[0]


@lru_cache(maxsize=65_536)
def service_of(queue: str) -> str:
    return queue.partition(":")[2]


def is_own(queue: str) -> bool:
    """Whether only one worker serves a queue."""
    return "@" in queue.partition(":")[0]


def is_link(queue: str) -> bool:
    """Whether a queue is for nodes of packages, which only workers on the link execute."""
    return transport_of(queue) == "link"


def package_of(queue: str) -> str:
    """The `package@version` whose handler a link's queue is for."""
    return service_of(queue).partition(":")[0]


def owner_of(queue: str | None) -> str | None:
    """The worker whose own queue this is, if it is one's."""
    if queue is None:
        return None
    _, at, worker = queue.partition(":")[0].partition("@")
    return unquote(worker) if at else None
