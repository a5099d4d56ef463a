"""What AstraFlow's UI calls and nobody serves here says so; the reference lists exactly that."""

from pathlib import Path

from windlass.server.app import NATIVE
from windlass.server.compat.astraflow.unserved import ROUTES, UNSERVED

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "astraflow-api.md"


def test_the_reference_lists_exactly_what_is_not_served_and_why() -> None:
    listed = REFERENCE.read_text().partition("## Not served")[2]
    for reason, paths in UNSERVED:
        row = "<br>".join(f"{method} `{path}`" for method, path in paths)
        assert f"| {row} | {reason} |" in listed
    assert listed.count("` ") + listed.count("`<br>") >= len(ROUTES)


def test_nothing_is_both_served_and_not() -> None:
    served = {(route.method, route.path) for route in NATIVE}
    assert not served & {(route.method, route.path) for route in ROUTES}
