"""What a definition may take: names become parts of keys, and every value is gone through."""

from typing import Any

import pytest

from windlass.dialects.flow import compile_flow, read_definition
from windlass.model.errors import DefinitionError

Json = dict[str, Any]

TOO_LONG = ["n" * 201, "🦖" * 151]
"""Too many characters, and too many bytes."""
LONGEST = ["n" * 200, "🦖" * 150]


def one(**node: Any) -> Json:
    node = {"exec_type": "local_func", "func": "f", **node} if "kind" not in node else node
    return {"start": "a", "nodes": {"a": node}, "edges": []}


def named(word: str) -> dict[str, Json]:
    """A flow with a name at each place that has one, by that place."""
    call = {"exec_type": "queue"}
    # What names it counts as well: eight letters, or as many bytes as two of the wide ones.
    wait = "$shared." + word[8 if word.isascii() else 2 :]
    return {
        "nodes.a.service": one(**call, func="", service=word),
        "nodes.a.func": one(func=word),
        "nodes.a.default_action": one(default_action=word),
        "nodes.a.post.output_key": one(post={"output_key": word}),
        "nodes.a.post.action_key": one(post={"action_key": word}),
        "nodes.a.post.action_static": one(post={"action_static": word}),
        "nodes.a.params.signal_key": one(kind="wait_event", params={"signal_key": wait}),
        "nodes.a.params.approval_key": one(kind="approval", params={"approval_key": wait}),
    }


@pytest.mark.parametrize("word", TOO_LONG)
@pytest.mark.parametrize("place", list(named("n")))
def test_a_name_that_becomes_a_part_of_a_key_is_bounded(place: str, word: str) -> None:
    with pytest.raises(DefinitionError, match="too long") as refused:
        compile_flow(named(word)[place])
    assert place in [problem.path for problem in refused.value.problems]


@pytest.mark.parametrize("word", TOO_LONG)
def test_keys_of_an_output_s_fields_are_bounded(word: str) -> None:
    with pytest.raises(DefinitionError, match="too long"):
        compile_flow(one(post={"output_map": {word: "x"}}))


@pytest.mark.parametrize("word", LONGEST)
@pytest.mark.parametrize("place", list(named("n")))
def test_a_name_at_the_bound_is_taken(place: str, word: str) -> None:
    compile_flow(named(word)[place])


def test_a_definition_has_no_more_values_than_are_gone_through_in_a_moment() -> None:
    text = "[" + "1," * 199_999 + "1]"
    assert read_definition(text, yaml=False) == [1] * 200_000
    with pytest.raises(DefinitionError, match="more than 200000 values"):
        read_definition(text[:-1] + ",1]", yaml=False)
