"""What is asked of the API beyond any measure costs only whoever asks, and is told so."""

import pytest

from tests.integration.conftest import Served

LISTS = (
    *("runs", "workers", "checkpoints", "flows", "workflows", "tokens", "users", "audit-events"),
    *("dead-letters", "resources", "published-packages", "pods", "nodes", "limits"),
)


@pytest.mark.parametrize("cursor", ["x" * 5_000, "9" * 5_000, "a%00b"])
@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_that_is_no_place_is_refused(served: Served, name: str, cursor: str) -> None:
    answer = served.http.get(f"/api/v1/{name}?cursor={cursor}")
    assert answer.status_code == 400, answer.text
