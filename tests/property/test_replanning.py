"""Whatever changes in a plan, only that and what stands on it is done again."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plans import claim, do, open_states, planned, say
from windlass.model.states import RunState
from windlass.testing.played import Played


@st.composite
def graphs(draw: st.DrawFn) -> list[set[int]]:
    """For each task, which earlier ones it depends on."""
    size = draw(st.integers(2, 50))
    return [
        draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        for number in range(size)
    ]


def tasks(needs: list[set[int]], changed: set[int]) -> list[dict[str, Any]]:
    return [
        {
            "alias": f"t{number}",
            "goal": f"do {number}" + (" otherwise" if number in changed else ""),
            "depends_on": [f"t{need}" for need in sorted(before)],
        }
        for number, before in enumerate(needs)
    ]


def standing_on(needs: list[set[int]], changed: set[int]) -> set[int]:
    found = set(changed)
    for number, before in enumerate(needs):
        if before & found:
            found.add(number)
    return found


def work(run: Played, count: int) -> list[str]:
    """Do some of what is ready, first come first served; returns what was done."""
    done: list[str] = []
    while len(done) < count:
        ready = [alias for alias, state in open_states(run).items() if state == "queued"]
        if not ready:
            break
        do(run, ready[0])
        done.append(ready[0])
    return done


@settings(max_examples=60)
@given(graphs(), st.data())
def test_a_replan_redoes_what_changed_and_what_stands_on_it(
    needs: list[set[int]], data: st.DataObject
) -> None:
    changed = data.draw(st.sets(st.integers(0, len(needs) - 1), max_size=4))
    before = tasks(needs, set())
    asks = {"alias": "asks", "goal": "want another plan"}
    run = planned(*before, asks)
    done = set(work(run, data.draw(st.integers(0, len(needs)))))
    if "asks" not in done:
        do(run, "asks", {"status": "completed", "request_replan": True})
    else:
        return  # It had its turn before anybody knew: nothing is planned anew.
    say(run, claim(run), {"tasks": [*tasks(needs, changed), asks]})
    again = {f"t{number}" for number in standing_on(needs, changed)}
    states = open_states(run)
    for alias in done:
        expected = "redone" if alias in again else "kept"
        found = "kept" if states.get(alias) == "succeeded" else "redone"
        assert found == expected, (alias, states)
    later = work(run, 1_000)
    assert set(later) == {f"t{n}" for n in range(len(needs))} - (done - again)
    assert run.state() is RunState.SUCCEEDED
    output = json.loads(run.one("plan").output or "{}")
    leaves = {f"t{n}" for n in range(len(needs)) if not any(n in other for other in needs)}
    assert set(output) == leaves | {"asks"}
