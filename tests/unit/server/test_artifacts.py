"""What a run made: only results that were accepted count."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from windlass.model.rows import Artifact, Attempt, Run
from windlass.model.states import AttemptState
from windlass.server.compat.astraflow.runs import artifacts_of

pytestmark = pytest.mark.anyio


def attempt(id_: str, state: AttemptState) -> Attempt:
    return Attempt(
        id=id_,
        task_id="t",
        run_id="r",
        number=1,
        state=state,
        queue="link",
        worker_id="w",
        lease_until=0,
        claimed_at=0,
    )


async def test_what_a_refused_result_brought_is_not_listed() -> None:
    rows = [
        Artifact(attempt_id=id_, resource_id=id_, run_id="r", worker_id="w", type="f", created_at=0)
        for id_ in ("late", "good")
    ]

    async def page(*_: Any, **__: Any) -> list[Artifact]:
        return rows

    engine = cast(Any, SimpleNamespace(store=SimpleNamespace(page=page)))
    tried = [attempt("late", AttemptState.LOST), attempt("good", AttemptState.SUCCEEDED)]
    found = await artifacts_of(engine, cast(Run, SimpleNamespace(id="r")), tried)
    assert [row.resource_id for row in found] == ["good"]
