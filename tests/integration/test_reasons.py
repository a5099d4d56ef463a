"""Why a run stands where it stands, as the API says it: a code with values."""

from tests.integration.conftest import Served
from tests.integration.test_api import wait_node


def test_why_is_a_code_with_values_that_say_when(served: Served) -> None:
    served.push("why-code", wait_node("key"))
    run_id = served.start("why-code")
    found = served.http.get(f"/api/v1/runs/{run_id}/why").json()
    assert found["reason"]["code"] == "signal"
    assert found["reason"]["values"] == {"node": "w", "key": "key"}
    assert found["reasons"][0]["reason"] == found["reason"]
    assert (found["more"], found["cancelling"]) == (0, False)
    assert found["at"] > 1_700_000_000_000
    served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
