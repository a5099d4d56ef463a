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


class PackageList(Wire, frozen=True, kw_only=True):
    """A page of packages; `next` and `nextCursor` are the cursor of the one after."""

    items: list[PackageSummary]
    next: str | None = None
    next_cursor: str | None = None


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


class TransferBody(Wire, frozen=True, kw_only=True):
    owner_id: str
    """The name of a user or token."""
