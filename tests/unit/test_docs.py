"""The documents say what the code says: diagrams, references, field names, events, links."""

import ast
import re
from pathlib import Path

import pytest

from tools import diagrams, reference
from windlass.dialects.fields import DESCRIPTIVE
from windlass.dialects.flow import fanout, mappings, nodes, subflows, targets
from windlass.dialects.flow.conditions import OPERATORS
from windlass.kernel import decide, reports, requests
from windlass.kernel.scopes import timer_kinds
from windlass.model.graph import Kind
from windlass.model.rows import Task
from windlass.model.states import TaskState
from windlass.server.compat.pocketflow import routes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    return (DOCS / name).read_text()


def test_the_diagrams_are_those_of_the_transition_tables() -> None:
    text = page("ARCHITECTURE.md")
    assert {name for _, name, _ in diagrams.BLOCK.findall(text)} == set(diagrams.DIAGRAMS)
    assert diagrams.updated(text) == text, "run tools/diagrams.py"


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert page(f"reference/{name}") == reference.PAGES[name](), "run tools/reference.py"


def test_every_field_of_the_flow_dialect_is_in_its_reference() -> None:
    fields = nodes.NODE_FIELDS | targets.CALL_FIELDS | mappings.RETRY_FIELDS | DESCRIPTIVE
    fields |= subflows.BODY_FIELDS | subflows._OVERRIDE_FIELDS | fanout._BRANCH_FIELDS
    fields |= {"on_failure", "from", "action", "to", "expr"} | set(OPERATORS)
    fields |= {f"script.{name}" for name in targets._SCRIPT_FIELDS}
    fields |= {f"prep.{name}" for name in mappings.PREP_FIELDS}
    fields |= {f"post.{name}" for name in mappings.POST_FIELDS}
    fields |= {str(word) for word in (*nodes._KINDS, *targets._TRANSPORTS, *nodes._STRATEGIES)}
    text = page("reference/flow-dialect.md")
    assert [name for name in sorted(fields) if f"`{name}`" not in text] == []


def test_every_table_is_in_the_architecture() -> None:
    scripts = (ROOT / "src/windlass/drivers/sql/migrations").glob("*.sql")
    text = "".join(script.read_text() for script in scripts)
    tables = set(re.findall(r"create table (?:if not exists )?(?:public\.)?(\w+)", text))
    stored = page("ARCHITECTURE.md").partition("## What is stored")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", stored, re.MULTILINE))))
    assert sorted(tables - named) == []


def test_every_event_type_is_in_the_reference() -> None:
    types = {f"timer.{kind}" for kind in {"cancel", *all_timer_kinds()}}
    text = "".join(Path(str(each.__file__)).read_text() for each in (decide, reports, requests))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "finish":
            name = node.args[1]
            types |= {str(name.value)} if isinstance(name, ast.Constant) else set()
    text = page("reference/events.md")
    assert len(types) > 10
    assert [name for name in sorted(types) if f"| `{name}` |" not in text] == []


def all_timer_kinds() -> set[str]:
    def task(kind: Kind) -> Task:
        return Task(
            id="r~a.1",
            run_id="r",
            scope="r",
            node="a",
            kind=kind,
            state=TaskState.WAITING,
            created_at=0,
        )

    return {name for kind in Kind for name in timer_kinds(task(kind))}


def test_every_path_of_the_pocketflow_surface_is_in_its_reference() -> None:
    text = page("reference/pocketflow-api.md")
    missing = [path for _, path, _, _ in routes._PATHS if f"`{path}`" not in text]
    assert missing == []


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    broken: list[str] = []
    for target in LINK.findall(FENCE.sub("", file.read_text())):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        found = (file.parent / path).resolve() if path else file
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert broken == []


def anchors(file: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", file.read_text()), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_decisions_are_numbered_without_a_gap() -> None:
    names = sorted(file.name for file in (DOCS / "adr").glob("*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    for name in names:
        first = (DOCS / "adr" / name).read_text().splitlines()[0]
        assert first.startswith(f"# {int(name[:4])}. "), name
