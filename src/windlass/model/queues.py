"""Names of ready queues.

`<transport>:<service>` is open to everybody who serves it; `link@<worker>:<service>` only to that
worker.
"""

from urllib.parse import quote, unquote

_OWN = "link@"


def own_queue(worker_id: str, service: str) -> str:
    """The queue only one worker serves."""
    return f"{_OWN}{quote(worker_id, safe='')}:{service}"


def is_own(queue: str) -> bool:
    """Whether only one worker serves a queue."""
    return queue.startswith(_OWN)


def is_link(queue: str) -> bool:
    """Whether a queue is for nodes of packages, which only workers on the link execute."""
    return queue.startswith("link")


def package_of(queue: str) -> str:
    """The `package@version` whose handler a link's queue is for."""
    return queue.partition(":")[2].partition(":")[0]


def owner_of(queue: str | None) -> str | None:
    """The worker whose own queue this is, if it is one's."""
    if queue is None or not is_own(queue):
        return None
    return unquote(queue.removeprefix(_OWN).partition(":")[0])
