"""Rows of the package repository: names, their versions, and what workers say is in theirs."""

from collections.abc import Mapping
from typing import ClassVar

from windlass.model.rows import Json, Row


class Package(Row, frozen=True, kw_only=True):
    """A name in the package repository."""

    TABLE = "packages"
    UPSERT = True
    KEY = ("name",)
    FIXED = frozenset({"created_at", "tenant"})
    name: str
    description: str = ""
    owner: str = ""
    visibility: str = "internal"
    tags: Json = "{}"
    """Tag → version."""
    created_at: int
    updated_at: int
    tenant: str = "default"


class PackageVersion(Row, frozen=True, kw_only=True):
    """One published archive. Its content never changes; its status may."""

    TABLE = "package_versions"
    FIXED = frozenset(
        {
            "name",
            "version",
            "sha256",
            "size_bytes",
            "manifest",
            "signer",
            "owner",
            "created_at",
            "tenant",
        }
    )
    HEAVY: ClassVar[Mapping[str, str]] = {"manifest": "'{}'"}
    id: str
    """`<name>@<version>`"""
    name: str
    version: str
    status: str = "active"
    """active, deprecated (still served, with a warning) or yanked (no new install)."""
    sha256: str
    size_bytes: int
    manifest: Json
    signer: str = ""
    """The trusted key's name; "" for an unsigned archive."""
    owner: str = ""
    created_at: int
    tenant: str = "default"


class Manifest(Row, frozen=True, kw_only=True):
    """What a worker said is in a version of a package, published or not."""

    TABLE = "manifests"
    KEY = ("package",)
    UPSERT = True
    package: str
    """`name@version`"""
    manifest: Json
    reported_at: int
