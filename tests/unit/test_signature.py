"""Signatures: who signed is known, and any change after signing shows."""

import io
import json
import zipfile

import pytest

from tests.packages import archive
from windlass.protocol.packages.archive import Contents, build, contents_of, inspect
from windlass.protocol.packages.errors import PackageError
from windlass.protocol.packages.signature import (
    Status,
    Trust,
    key_id,
    new_key,
    public_key,
    sign,
    verify,
)

KEY, OTHER = new_key(), new_key()
AT = "2026-01-02T03:04:05+00:00"


def signed(key: str = KEY) -> bytes:
    return sign(archive(), key, signed_at=AT, signed_by="Ada")


def look(data: bytes) -> Contents:
    return inspect(io.BytesIO(data))


def changed(data: bytes, name: str, content: bytes) -> bytes:
    files = dict(contents_of(io.BytesIO(data)))
    files[name] = content
    return build(files.items())


def test_a_trusted_signature_is_good_whatever_the_policy() -> None:
    for required in (True, False):
        verdict = verify(look(signed()), Trust(required=required, keys=(public_key(KEY),)))
        assert (verdict.status, verdict.allowed) == (Status.OK, True)
        assert (verdict.key_id, verdict.signed_by) == (key_id(public_key(KEY)), "Ada")


def test_an_unsigned_package_is_taken_only_where_none_is_required() -> None:
    contents = look(archive())
    assert verify(contents, Trust()).allowed
    verdict = verify(contents, Trust(required=True, keys=(public_key(KEY),)))
    assert (verdict.status, verdict.allowed) == (Status.UNSIGNED, False)
    with pytest.raises(PackageError) as caught:
        verdict.check()
    assert caught.value.code == "E.PKG.PERMISSION"


def test_a_stranger_is_taken_only_where_no_signature_is_required() -> None:
    contents = look(signed(OTHER))
    assert verify(contents, Trust(keys=(public_key(KEY),))).allowed
    verdict = verify(contents, Trust(required=True, keys=(public_key(KEY),)))
    assert (verdict.status, verdict.allowed) == (Status.UNTRUSTED, False)


@pytest.mark.parametrize("name", ["adapters/tools_main.py", "adapters/another.py"])
def test_a_change_after_signing_is_never_taken(name: str) -> None:
    data = changed(signed(), name, b"evil = 1\n")
    verdict = verify(look(data), Trust(keys=(public_key(KEY),)))
    assert (verdict.status, verdict.allowed) == (Status.BAD, False)
    assert "changed after it was signed" in verdict.reason


@pytest.mark.parametrize("field", ["signature", "publicKey", "signedAt", "signedBy", "algorithm"])
def test_no_field_of_a_signature_can_be_changed(field: str) -> None:
    data = signed()
    said = json.loads(dict(contents_of(io.BytesIO(data)))["signature.json"])
    said[field] = public_key(OTHER) if field == "publicKey" else "AAAA"
    data = changed(data, "signature.json", json.dumps(said).encode())
    assert verify(look(data), Trust()).status is Status.BAD


def test_a_new_digest_does_not_help_whoever_changed_a_file() -> None:
    data = changed(signed(), "adapters/tools_main.py", b"evil = 1\n")
    said = json.loads(dict(contents_of(io.BytesIO(data)))["signature.json"])
    said["digest"] = look(data).digest
    data = changed(data, "signature.json", json.dumps(said).encode())
    assert "does not match its key" in verify(look(data), Trust()).reason


def test_an_unreadable_signature_is_bad_and_not_absent() -> None:
    data = changed(archive(), "signature.json", b"{}")
    assert verify(look(data), Trust()).status is Status.BAD


def test_the_signature_holds_however_the_archive_is_packed() -> None:
    files = contents_of(io.BytesIO(signed()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as packed:
        for name, data in reversed(files):
            packed.writestr(name, data)
    assert verify(look(out.getvalue()), Trust(keys=(public_key(KEY),))).status is Status.OK


def test_signing_again_replaces_the_signature() -> None:
    again = sign(signed(OTHER), KEY, signed_at=AT)
    assert verify(look(again), Trust(keys=(public_key(KEY),))).status is Status.OK


@pytest.mark.parametrize("text", ["", "ed25519:AAAA", "nonsense", "ed25519:" + "A" * 44 + "="])
def test_what_is_no_key_is_said_to_be_none(text: str) -> None:
    with pytest.raises(PackageError, match="no public key"):
        verify(look(signed()), Trust(keys=(text,)))
    with pytest.raises(PackageError, match="private key"):
        sign(archive(), text, signed_at=AT)
