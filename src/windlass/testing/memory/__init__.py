"""An in-process store with real transaction semantics, for tests and the simulator.

`MemoryDatabase` holds the tables; each `MemoryStore` is one connection to it, as a process has.
"""

from windlass.testing.memory.database import Change, Commit, MemoryDatabase, Refused
from windlass.testing.memory.store import Around, CommitsLater, MemoryStore

__all__ = [
    "Around",
    "Change",
    "Commit",
    "CommitsLater",
    "MemoryDatabase",
    "MemoryStore",
    "Refused",
]
