"""Signatures of packages: Ed25519 over the digest of everything else in the archive."""

import base64
import binascii
import hashlib
import io
import json
from enum import StrEnum

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from windlass.protocol.packages.archive import Contents, build, contents_of, inspect
from windlass.protocol.packages.errors import PERMISSION, PackageError, invalid
from windlass.protocol.packages.names import SIGNATURE

ALGORITHM = "ed25519"
PREFIX = "ed25519:"


class Signature(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What `signature.json` in an archive says."""

    algorithm: str
    key_id: str
    public_key: str
    digest: str
    signature: str
    signed_at: str
    signed_by: str = ""


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """Whose packages are taken: with `required`, only those signed by one of `keys`."""

    required: bool = False
    keys: tuple[str, ...] = ()


class Status(StrEnum):
    OK = "ok"
    UNSIGNED = "unsigned"
    UNTRUSTED = "untrusted"
    BAD = "bad"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a signature is worth under a trust policy, and whether the package may be used."""

    status: Status
    reason: str
    allowed: bool
    key_id: str = ""
    signed_by: str = ""

    def check(self) -> None:
        if not self.allowed:
            raise PackageError(PERMISSION, self.reason)


def new_key() -> str:
    """A private key as PEM text."""
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def public_key(private_key: str) -> str:
    """The public half of a private key, as trust policies name it."""
    return PREFIX + base64.b64encode(_raw(_load(private_key).public_key())).decode()


def key_id(public: str) -> str:
    """A short name of a public key, for people to compare."""
    return hashlib.sha256(_key_bytes(public)).hexdigest()[:16]


def sign(archive: bytes, private_key: str, *, signed_at: str, signed_by: str = "") -> bytes:
    """The same archive with a signature in it; one that was there is replaced."""
    source = io.BytesIO(archive)
    contents = inspect(source)
    key = _load(private_key)
    public = public_key(private_key)
    message = _message(contents.digest, signed_at, signed_by)
    made = Signature(
        algorithm=ALGORITHM,
        key_id=key_id(public),
        public_key=public,
        digest=contents.digest,
        signature=base64.b64encode(key.sign(message)).decode(),
        signed_at=signed_at,
        signed_by=signed_by,
    )
    files = [(name, data) for name, data in contents_of(source) if name != SIGNATURE]
    return build([*files, (SIGNATURE, msgspec.json.format(msgspec.json.encode(made)))])


def verify(contents: Contents, trust: Trust) -> Verdict:
    """What an archive's signature is worth."""
    if contents.signature is None:
        reason = "the package is not signed"
        return Verdict(status=Status.UNSIGNED, reason=reason, allowed=not trust.required)
    try:
        found = msgspec.json.decode(contents.signature, type=Signature)
    except msgspec.MsgspecError as error:
        return _bad(f"its {SIGNATURE} cannot be read: {error}")
    flaw = _flaw(found, contents.digest)
    if flaw:
        return _bad(flaw)
    known = {_key_bytes(key) for key in trust.keys}
    by = {"key_id": key_id(found.public_key), "signed_by": found.signed_by}
    if _key_bytes(found.public_key) in known:
        reason = f"signed by the trusted key {by['key_id']}"
        return Verdict(status=Status.OK, reason=reason, allowed=True, **by)
    reason = f"signed by the key {by['key_id']}, which is not trusted here"
    return Verdict(status=Status.UNTRUSTED, reason=reason, allowed=not trust.required, **by)


def _flaw(found: Signature, digest: str) -> str:
    """Why a signature does not hold, whoever made it; empty if it does."""
    if found.algorithm != ALGORITHM:
        return f'the algorithm "{found.algorithm[:40]}" is not known'
    if found.digest != digest:
        return "it was made for other files: something was changed after it was signed"
    try:
        key = Ed25519PublicKey.from_public_bytes(_key_bytes(found.public_key))
        given = base64.b64decode(found.signature, validate=True)
        key.verify(given, _message(digest, found.signed_at, found.signed_by))
    except (InvalidSignature, PackageError, ValueError, binascii.Error):
        return "its signature does not match its key"
    return ""


def _bad(reason: str) -> Verdict:
    return Verdict(
        status=Status.BAD, reason=f"the package's signature is bad: {reason}", allowed=False
    )


def _message(digest: str, signed_at: str, signed_by: str) -> bytes:
    # The first word keeps a signature made for anything else from meaning something here.
    return json.dumps(["windlass-package-1", digest, signed_at, signed_by]).encode()


def _load(private_key: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(private_key.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise invalid("this is no private key; make one with `windlass pkg keygen`") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise invalid("this key is not Ed25519; make one with `windlass pkg keygen`")
    return key


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _key_bytes(public: str) -> bytes:
    try:
        found = base64.b64decode(public.strip().removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != 32:
        raise invalid(f'"{public[:60]}" is no public key; it looks like {PREFIX}…')
    return found
