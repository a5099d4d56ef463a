"""A field in Python's spelling is refused, not ignored; values may say what they like."""

import pytest

from windlass.model.errors import BadRequest
from windlass.protocol.api import StartBody
from windlass.server.http import parse_json


def test_a_field_in_pythons_spelling_is_named_with_the_right_one() -> None:
    with pytest.raises(BadRequest, match='no field "worker_profile" here; did you mean "workerPro'):
        parse_json(b'{"dialect": "plan", "goal": "g", "worker_profile": "w"}', StartBody)


def test_such_words_inside_values_are_left_alone() -> None:
    body = (
        b'{"dialect": "plan", "goal": "worker_profile", "plan": {"tasks": [{"worker_profile":1}]}}'
    )
    assert parse_json(body, StartBody).goal == "worker_profile"
    assert parse_json(b'{"flow": "f", "unknown": 1}', StartBody).flow == "f"
