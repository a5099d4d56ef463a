"""Dead letters: one for each task that was given up, and none for any other."""

from windlass.model.dead_letters import TASK, DeadLetter, is_given_up
from windlass.model.states import TaskState
from windlass.testing.memory import MemoryDatabase
from windlass.testing.simulator.checks.rows import RunRows, expect


def check_letters(database: MemoryDatabase, rows: RunRows) -> None:
    dead = {
        task.id
        for task in rows.tasks.values()
        if task.state is TaskState.FAILED and is_given_up(task)
    }
    told = {row.id for row in database.of_run(DeadLetter, rows.run.id) if row.kind == TASK}
    expect(told >= dead, f"{sorted(dead - told)} were given up, and nobody is told")
    expect(told <= dead, f"{sorted(told - dead)} are said to be given up, and are not")
