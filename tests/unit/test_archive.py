"""Archives: built the same way twice, and looked into without harm."""

import io
import warnings
import zipfile

import pytest

from tests.hostile import HOSTILE
from tests.packages import archive
from windlass.model.errors import DefinitionError
from windlass.protocol.packages.archive import Limits, build, contents_of, inspect
from windlass.protocol.packages.digest import content_digest, plain, same, sha256
from windlass.protocol.packages.errors import INVALID, PackageError

FILES = [("b.txt", b"two"), ("a.txt", b"one")]


def test_equal_files_give_equal_bytes_in_any_order() -> None:
    assert build(FILES) == build(reversed(FILES))


def test_what_was_built_is_found_again() -> None:
    assert contents_of(io.BytesIO(build(FILES))) == sorted(FILES)


def test_an_archive_is_known_by_its_manifest_and_its_digest() -> None:
    data = archive()
    found = inspect(io.BytesIO(data), name="tools", version="1.0.0")
    assert (found.manifest.name, found.manifest.version) == ("tools", "1.0.0")
    assert [file.name for file in found.files] == ["adapters/tools_main.py", "manifest.json"]
    assert found.digest == content_digest((file.name, file.sha256) for file in found.files)
    assert found.signature is None


def test_the_digest_is_that_of_the_files_and_not_of_the_zip() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as packed:
        packed.mkdir("adapters")
        for name, data in reversed(contents_of(io.BytesIO(archive()))):
            packed.writestr(name, data)
    assert inspect(out).digest == inspect(io.BytesIO(archive())).digest


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_in_clear_words(kind: str) -> None:
    make, words = HOSTILE[kind]
    with pytest.raises((PackageError, DefinitionError), match=words) as caught:
        inspect(io.BytesIO(make()), name="tools", version="1.0.0")
    if isinstance(caught.value, PackageError):
        assert caught.value.code == INVALID


def test_a_name_that_is_there_twice_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        packed.writestr("a.txt", b"good")
        packed.writestr("a.txt", b"evil")
    with pytest.raises(PackageError, match="is there twice"):
        inspect(out)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(archive_bytes=100), "the archive has more than 100 bytes"),
        (Limits(total_bytes=100), "unpacks to more than 100 bytes"),
        (Limits(file_bytes=10), "has more than 10 bytes"),
        (Limits(entries=1), "more than 1 entries"),
    ],
)
def test_limits_are_the_callers(limits: Limits, words: str) -> None:
    with pytest.raises(PackageError, match=words):
        inspect(io.BytesIO(archive()), limits)


def test_a_list_of_files_too_long_to_be_read_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive()
    long = data[:-10] + (20_000 * 512 + 1).to_bytes(4, "little") + data[-6:]
    monkeypatch.setattr(zipfile, "ZipFile", None)
    for end in (b"", b"\x05\0words"):
        hostile = long[:-2] + end if end else long
        with pytest.raises(PackageError, match="more than 20000 entries"):
            inspect(io.BytesIO(hostile))


def test_the_format_for_huge_archives_is_refused() -> None:
    data = archive()
    locator = b"PK\6\7" + bytes(16)
    with pytest.raises(PackageError, match="huge"):
        inspect(io.BytesIO(data[:-22] + locator + data[-22:]))


def test_nothing_unsafe_can_be_built_either() -> None:
    with pytest.raises(PackageError, match=r'"\.\." part'):
        build([("../a", b"")])


def test_a_digest_may_have_a_prefix_and_any_case() -> None:
    digest = sha256(b"x")
    assert plain(f"sha256:{digest.upper()}") == digest
    assert same(digest, f"SHA256:{digest}")
    with pytest.raises(PackageError, match="is not a SHA-256"):
        plain("sha256:short")
