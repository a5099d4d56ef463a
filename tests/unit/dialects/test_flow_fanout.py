"""Branches of parallel and foreach nodes become call nodes below their container."""

from typing import Any

import pytest

from windlass.dialects.flow import compile_flow
from windlass.model.errors import DefinitionError
from windlass.model.graph import Graph, Kind, Node, Ref, Retry, Root, Strategy, Target, Transport

MUL = Target(Transport.LOCAL, "mul")


def fan(**fields: Any) -> Graph:
    return compile_flow({"start": "n", "nodes": {"n": fields}})


def reasons(**fields: Any) -> dict[str, str]:
    with pytest.raises(DefinitionError) as caught:
        fan(**fields)
    return {problem.path: problem.reason for problem in caught.value.problems}


def test_parallel_services_make_one_branch_each_even_if_they_repeat() -> None:
    made = fan(kind="parallel", parallel_services=["s", "s"], params={"mul": 3})
    push = Target(Transport.PUSH, "s")
    assert made.nodes == {
        "n/0": Node("n/0", Kind.CALL, target=push),
        "n/1": Node("n/1", Kind.CALL, target=push),
        "n": Node("n", Kind.PARALLEL, params={"mul": 3}, branches=2),
    }
    assert made.branch(made.nodes["n"], 1).path == "n/1"


def test_parallel_execs_come_before_services_and_services_before_params() -> None:
    made = fan(
        kind="parallel",
        parallel_execs=[{"service": "x"}],
        parallel_services=["y", "y"],
        params={"services": ["z", "z", "z"]},
    )
    assert made.nodes["n"].branches == 1
    assert fan(kind="parallel", params={"services": ["z"]}).nodes["n/0"].target == Target(
        Transport.PUSH, "z"
    )


def test_a_branch_takes_from_its_container_what_its_spec_leaves_open() -> None:
    made = fan(
        kind="parallel",
        exec_type="local_func",
        func="mul",
        service="s",
        max_retries=2,
        wait_ms=5,
        timeout_ms=100,
        weighted_by_load=True,
        prep={"input_key": "$params.val"},
        parallel_execs=[
            {"params": {"mul": 2}},
            {"exec_type": "queue", "max_retries": 0, "timeout_ms": 7, "prep": {"input_key": "x"}},
        ],
    )
    assert made.nodes["n/0"] == Node(
        "n/0",
        Kind.CALL,
        target=MUL,
        params={"mul": 2},
        retry=Retry(retries_max=2, wait_ms=5),
        timeout_ms=100,
        by_load=True,
    )
    assert made.nodes["n/1"] == Node(
        "n/1",
        Kind.CALL,
        target=Target(Transport.PULL, "s"),
        input=Ref(Root.SHARED, ("x",)),
        retry=Retry(retries_max=0, wait_ms=5),
        timeout_ms=7,
        by_load=True,
    )


def test_the_mode_says_whether_branches_run_at_once_and_how_many() -> None:
    in_turn = fan(kind="parallel", parallel_services=["s"], max_parallel=-1).nodes["n"]
    assert (in_turn.concurrent, in_turn.parallel_max) == (False, 0)
    at_once = fan(
        kind="parallel", parallel_services=["s"], parallel_mode="concurrent", max_parallel=3
    ).nodes["n"]
    assert (at_once.concurrent, at_once.parallel_max) == (True, 3)


def test_a_foreach_has_a_node_for_any_item_and_its_own_for_some() -> None:
    made = fan(
        kind="foreach",
        exec_type="local_func",
        func="mul",
        prep={"input_key": "$shared.arr"},
        params={"mul": 2},
        foreach_execs=[{"params": {"mul": 4}}, {"index": 7, "exec_type": "queue", "service": "q"}],
    )
    each = made.nodes["n"]
    assert each.overrides == {0, 7}
    assert made.nodes["n/*"] == Node("n/*", Kind.CALL, target=MUL)
    assert made.nodes["n/0"] == Node("n/0", Kind.CALL, target=MUL, params={"mul": 4})
    assert made.branch(each, 7).target == Target(Transport.PULL, "q")
    assert made.branch(each, 3).path == "n/*"


def test_strategy_retry_gives_branches_one_retry_unless_they_have_more() -> None:
    made = fan(kind="foreach", service="s", failure_strategy="retry")
    assert made.nodes["n"].strategy is Strategy.RETRY
    assert made.nodes["n/*"].retry.retries_max == 1
    more = fan(kind="foreach", service="s", failure_strategy="retry", max_retries=4)
    assert more.nodes["n/*"].retry.retries_max == 4


def test_a_parallel_node_without_branches_is_a_problem() -> None:
    assert reasons(kind="parallel", service="s") == {"nodes.n": "the parallel node has no branches"}


def test_problems_of_branches_name_the_branch() -> None:
    assert reasons(
        kind="parallel",
        parallel_execs=[{"exec_type": "local_func"}, {"params": 3, "service": "s"}, "x"],
    ) == {
        "nodes.n.parallel_execs[0].func": "no function to call",
        "nodes.n.parallel_execs[1].params": "3 is a number, expected an object",
        "nodes.n.parallel_execs[2]": '"x" is a string, expected an object',
    }
    assert reasons(kind="parallel", parallel_services=["s", 5]) == {
        "nodes.n.parallel_services[1]": "5 is a number, expected text"
    }


def test_two_entries_for_one_item_are_a_problem() -> None:
    execs = [{"index": 1}, {"index": 1}]
    assert reasons(kind="foreach", service="s", foreach_execs=execs) == {
        "nodes.n.foreach_execs[1].index": "item 1 has an entry already"
    }


def test_the_input_of_an_item_is_the_item() -> None:
    execs = [{"prep": {"input_key": "x"}}]
    assert reasons(kind="foreach", service="s", foreach_execs=execs) == {
        "nodes.n.foreach_execs[0].prep": "this field is not known here"
    }


@pytest.mark.parametrize("word", ["s" * 201, "🦖" * 151])
def test_names_of_services_are_bounded_wherever_branches_get_them_from(word: str) -> None:
    in_params = reasons(kind="parallel", params={"services": ["s", word]})
    assert list(in_params) == ["nodes.n.params.services[1]"]
    assert list(reasons(kind="parallel", parallel_services=[word])) == [
        "nodes.n.parallel_services[0]"
    ]
