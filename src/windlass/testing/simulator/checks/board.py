"""The blackboard: it says of each task of a plan how it ended, and nothing that is not judged."""

from typing import Any

import msgspec

from windlass.kernel.blackboard import result_key
from windlass.model.blackboard import BoardEntry
from windlass.model.graph import Kind
from windlass.model.states import TaskState
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.checks.rows import RunRows, expect


def check_board(database: MemoryDatabase, rows: RunRows) -> None:
    entries = database.table(BoardEntry)
    for task in rows.tasks.values():
        if task.kind != Kind.CALL or rows.node(task).planned is None:
            continue
        entry = entries.get(result_key(task.id))
        said: Any = None if entry is None else msgspec.json.decode(entry.payload)
        if task.state is TaskState.SUCCEEDED:
            right = said is not None and said["status"] == "completed"
            expect(right, f"{task.id} has succeeded, the blackboard says {said}")
        elif task.state is TaskState.VERIFYING:
            early = said is not None and said["claim_epoch"] >= task.claim
            expect(not early, f"{task.id} is being judged, the blackboard says {said}")
        if entry is not None:
            expect(entry.revision <= rows.run.seq, f"{entry.key} is of a moment to come")
