"""Deleting runs: no table that holds something of a run is left out."""

from windlass.engine.deleting import OF_A_RUN
from windlass.model.rows import Idempotency, Row


def test_every_table_with_something_of_a_run_is_emptied() -> None:
    tables = {
        table
        for table in Row.__subclasses__()
        if hasattr(table, "TABLE") and "run_id" in table.__struct_fields__
    }
    assert {table for table, _ in OF_A_RUN} == tables - {Idempotency}
