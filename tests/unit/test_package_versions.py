"""Versions of packages compare as their authors mean them to."""

import pytest

from windlass.protocol.packages.errors import PackageError
from windlass.protocol.packages.versions import is_version, newest, ordered, parse, satisfies


def test_versions_are_ordered_by_number_not_by_text() -> None:
    given = ["1.10.0", "1.9.0", "2025.10.0", "1.9.0-rc.10", "1.9.0-rc.9", "1.9.0-beta", "0.1"]
    assert ordered(given) == [
        "0.1",
        "1.9.0-beta",
        "1.9.0-rc.9",
        "1.9.0-rc.10",
        "1.9.0",
        "1.10.0",
        "2025.10.0",
    ]


def test_the_newest_that_satisfies_a_minimum_is_picked() -> None:
    here = ["2025.9.0", "2025.10.0", "2025.10.1"]
    assert newest(here) == "2025.10.1"
    assert newest(here, "2025.10.0") == "2025.10.1"
    assert newest(here, "2026.1.0") is None
    assert newest([]) is None


def test_a_pre_release_is_picked_only_where_no_release_would_do() -> None:
    assert newest(["1.0.0", "2.0.0-rc.1"]) == "1.0.0"
    assert newest(["1.0.0", "2.0.0-rc.1"], "1.5.0") == "2.0.0-rc.1"


def test_a_build_does_not_count_against_a_minimum() -> None:
    assert satisfies("1.0.0", "1.0.0+b2")
    assert satisfies("1.0", "1.0.0")
    assert not satisfies("1.0.0-rc.1", "1.0.0")


@pytest.mark.parametrize("text", ["", "1", "1.0.0 ", "1.0.0\n", "a.b.c", "1.2.3.4.5", "../1.0"])
def test_other_texts_are_no_versions(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(PackageError, match="is not a version"):
        parse(text)
