"""Draws the state diagrams of docs/ARCHITECTURE.md from the kernel's transition tables.

Without an option it rewrites the marked blocks of the page; `--check` only says whether they are
true and exits 1 if they are not.
"""

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from windlass.kernel import transitions
from windlass.model.states import ATTEMPT_LIVE, RUN_ENDED, TASK_ENDED, RunState, TaskState

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ARCHITECTURE.md"
BLOCK = re.compile(r"(<!-- diagram: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Table = Mapping[str, Collection[str]]
S = TypeVar("S", bound=str)


class Diagram(NamedTuple):
    """One state machine. States `inside` the frame share most of their ways out of it."""

    table: Table
    reopen: Table
    frame: str
    inside: frozenset[str]


def plain(table: Mapping[S, Collection[S]]) -> Table:
    """A table with its states as the text they are."""
    return {str(source): [str(target) for target in table[source]] for source in table}


DIAGRAMS: dict[str, Diagram] = {
    "run": Diagram(
        plain(transitions.RUN),
        plain(transitions.REOPEN_RUN),
        "open",
        frozenset(RunState) - RUN_ENDED - {RunState.CANCELLING},
    ),
    "task": Diagram(
        plain(transitions.TASK),
        plain(transitions.REOPEN_TASK),
        "open",
        frozenset(TaskState) - TASK_ENDED,
    ),
    "attempt": Diagram(plain(transitions.ATTEMPT), {}, "live", frozenset(ATTEMPT_LIVE)),
}


def draw(diagram: Diagram) -> str:
    """A Mermaid state diagram; arrows cross the frame only as a whole, which Mermaid asks for."""
    lines = ["stateDiagram-v2", f"    [*] --> {diagram.frame}", f"    state {diagram.frame} {{"]
    lines += [f"        {arrow}" for arrow in inner_arrows(diagram)]
    lines += ["    }"]
    lines += [f"    {arrow}" for arrow in outer_arrows(diagram)]
    return "\n".join(lines)


def inner_arrows(diagram: Diagram) -> list[str]:
    return [
        f"{source} --> {target}"
        for source in diagram.table
        if source in diagram.inside
        for target in in_order(diagram, diagram.table[source])
        if target in diagram.inside
    ]


def outer_arrows(diagram: Diagram) -> list[str]:
    table, inside = diagram.table, diagram.inside
    arrows: list[str] = []
    for target in (state for state in table if state not in inside):
        sources = [state for state in table if state in inside and target in table[state]]
        if sources:
            only = "" if len(sources) == len(inside) else f" : from {', '.join(sources)}"
            arrows.append(f"{diagram.frame} --> {target}{only}")
    for source in (state for state in table if state not in inside):
        arrows += [f"{source} --> {target}" for target in in_order(diagram, table[source])]
        if not table[source] and source not in diagram.reopen:
            arrows.append(f"{source} --> [*]")
        reopened = in_order(diagram, diagram.reopen.get(source, ()))
        back = [state for state in reopened if state in inside]
        if back:
            arrows.append(f"{source} --> {diagram.frame} : reopened as {', '.join(back)}")
        arrows += [f"{source} --> {state} : redone" for state in reopened if state not in inside]
    return arrows


def in_order(diagram: Diagram, states: Collection[str]) -> list[str]:
    """Some states in the order the table lists them all; sets have none of their own."""
    return [state for state in diagram.table if state in states]


def updated(text: str) -> str:
    """The page with every marked block drawn afresh."""

    def block(match: re.Match[str]) -> str:
        drawn = draw(DIAGRAMS[match[2]])
        return f"{match[1]}```mermaid\n{drawn}\n```\n{match[3]}"

    return BLOCK.sub(block, text)


def main(args: list[str]) -> int:
    text = PAGE.read_text(encoding="utf-8")
    fresh = updated(text)
    if "--check" not in args:
        PAGE.write_text(fresh, encoding="utf-8")
        return 0
    if text != fresh:
        print("docs/ARCHITECTURE.md: its diagrams differ from the code; run tools/diagrams.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
