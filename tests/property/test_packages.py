"""Archives and manifests hold for any files and any bytes."""

import contextlib
import io
import json
from string import ascii_lowercase

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.packages import archive, manifest
from windlass.model.errors import DefinitionError, Problem, WindlassError
from windlass.protocol.packages.archive import build, contents_of, inspect
from windlass.protocol.packages.checks import read_manifest
from windlass.protocol.packages.names import path_flaw
from windlass.protocol.packages.versions import is_version, newest, ordered, parse

names = st.lists(st.text(ascii_lowercase, min_size=1, max_size=8), min_size=1, max_size=3).map(
    lambda parts: "/".join(parts) + ".txt"
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=10,
)
versions = st.builds(
    lambda numbers, pre: ".".join(map(str, numbers)) + (f"-{pre}" if pre else ""),
    st.lists(st.integers(0, 3000), min_size=2, max_size=4),
    st.sampled_from(["", "rc.1", "rc.2", "alpha"]),
)


@given(st.dictionaries(names, st.binary(max_size=200), max_size=8))
def test_any_files_go_in_and_come_out(files: dict[str, bytes]) -> None:
    assert contents_of(io.BytesIO(build(files.items()))) == sorted(files.items())


@given(st.data())
@settings(max_examples=300)
def test_a_damaged_archive_never_does_more_than_fail(data: st.DataObject) -> None:
    whole = bytearray(archive())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    try:
        found = inspect(io.BytesIO(bytes(whole)))
    except WindlassError:
        return
    assert not any(path_flaw(file.name) for file in found.files)


@given(st.binary(max_size=300))
def test_any_bytes_are_no_archive_or_a_sound_one(data: bytes) -> None:
    with contextlib.suppress(WindlassError):
        inspect(io.BytesIO(data))


@given(st.sampled_from(sorted(manifest())), json_values)
@settings(max_examples=300)
def test_a_manifest_with_anything_in_it_is_read_or_explained(field: str, value: object) -> None:
    found: list[Problem] = []
    try:
        read_manifest(json.dumps({**manifest(), field: value}).encode())
    except DefinitionError as error:
        found = error.problems or [Problem("nowhere", "")]
    assert all(problem.reason for problem in found)


@given(st.text(max_size=30))
def test_a_path_without_a_flaw_stays_below_its_folder(path: str) -> None:
    if not path_flaw(path):
        assert ".." not in path.split("/")
        assert not path.startswith(("/", "\\"))


@given(st.lists(versions, min_size=1, max_size=8))
def test_versions_have_one_order_and_one_newest(found: list[str]) -> None:
    assert all(is_version(text) for text in found)
    assert ordered(found) == ordered(reversed(found))
    best = newest(found)
    assert best is not None
    releases = [text for text in found if parse(text).is_release]
    assert best == ordered(releases or found)[-1]
