"""Effects: what a commit promises to have done outside, as rows of that very commit.

An effect exists exactly if its cause does. Some process claims it under a lease, does it and
removes it; one that dies in between leaves it to the next, so an effect may be done twice and is
never lost. One that cannot be done stays, dead, for somebody to look at.
"""

from windlass.model.rows import Json, Row

RELEASE = "release"
"""Tell a worker that what it keeps for a run is not needed any more."""


FACT = "fact"
"""State what somebody saw outside, which could not be stated when it came."""


class Effect(Row, frozen=True, kw_only=True):
    TABLE = "effects"
    FIXED = frozenset({"kind", "address", "run_id", "body", "created_at"})
    id: str
    kind: str
    """What is to be done; whoever consumes effects has a handler for it."""
    address: str = ""
    """Who alone can do it, as `worker:NAME` for the process that has the worker's connection;
    empty for anybody."""
    run_id: str = ""
    body: Json = "{}"
    state: str = "waiting"
    """waiting, or dead: it was tried as often as it may be."""
    due_at: int
    tries: int = 0
    holder: str = ""
    lease_until: int = 0
    """Until when its holder alone may do it; 0 if nobody has it."""
    error: str = ""
    created_at: int


def worker_address(worker_id: str) -> str:
    return f"worker:{worker_id}"
