"""The catalogue of nodes: drawn from the versions that have them."""

from windlass.server.api.nodes import Brought, nodes_in


def version(number: str, label: str, type_: str = "kit.a") -> Brought:
    return Brought("kit", number, "active", [{"type": type_, "label": label, "ui": {"n": label}}])


def test_the_newest_version_is_the_highest_number_and_not_the_last_word() -> None:
    rows = [version("1.10.0", "new"), version("1.9.0", "old")]  # as the database sorts them
    [node] = nodes_in(rows)
    assert (node["latestVersion"], node["label"], node["ui"]) == ("1.10.0", "new", {"n": "new"})
    assert [found["version"] for found in node["versions"]] == ["1.9.0", "1.10.0"]


def test_nodes_are_sorted_by_package_and_type() -> None:
    found = nodes_in([version("1.0.0", "b", "kit.b"), version("1.0.0", "a", "kit.a")])
    assert [node["type"] for node in found] == ["kit.a", "kit.b"]
