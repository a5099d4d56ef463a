"""The goal of a planned run, read whole or from how its parameters begin."""

import pytest

from windlass.engine.goals import goal_at_start, goal_first


@pytest.mark.parametrize(
    ("begin", "goal"),
    [
        ('{"goal":"write it","input":{"goal":"no"}}', "write it"),
        ('{"goal":"say \\"hi\\" \\u0000\\n","x":1}', 'say "hi" \0\n'),
        ('{"goal":"cut of', "cut of"),
        ('{"goal":"cut\\', "cut"),
        ('{"goal":"cut\\u00', "cut"),
        ('{"goal":"', ""),
        ('{"input":{"goal":"no"}}', ""),
        ('{"goal":7}', ""),
        ("{}", ""),
    ],
)
def test_the_goal_at_the_start_is_read_as_far_as_it_came(begin: str, goal: str) -> None:
    assert goal_at_start(begin) == goal


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('{"goal":"a","b":1}', '{"goal":"a","b":1}'),
        ('{ "b": [1.50], "goal": "a\\ud83e\\udded" }', '{"goal":"a\U0001f9ed","b":[1.50]}'),
        ('{"b":1}', '{"b":1}'),
        ('{"b":1,"goal":[2]}', '{"b":1,"goal":[2]}'),
    ],
)
def test_a_plan_s_parameters_begin_with_the_goal(given: str, kept: str) -> None:
    assert goal_first(given) == kept
