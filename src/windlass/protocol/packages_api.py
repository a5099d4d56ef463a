"""Bodies and views of the package repository."""

import msgspec

from windlass.protocol.exchange import Wire


class PackageSummary(Wire, frozen=True, kw_only=True):
    name: str
    description: str
    versions: list[str]
    latest_version: str | None
    default_version: str | None
    dist_tags: dict[str, str]
    owner_id: str
    visibility: str
    state: str


class PackageDetail(PackageSummary, frozen=True, kw_only=True):
    """One version of a package, with everything its manifest says."""

    version: str
    manifest: msgspec.Raw
    available_versions: list[str]
    status: str
    archive_sha256: str
    archive_size_bytes: int
    signer: str


class PublishedPackage(Wire, frozen=True, kw_only=True):
    name: str
    version: str
    status: str
    archive_sha256: str
    archive_size_bytes: int
    signer: str
    created: bool


class StatusBody(Wire, frozen=True, kw_only=True):
    status: str


class TagBody(Wire, frozen=True, kw_only=True):
    version: str


class VisibilityBody(Wire, frozen=True, kw_only=True):
    visibility: str
