"""Bodies and views of uploaded files. Times are ISO 8601, as AstraFlow writes them."""

from typing import Any

import msgspec

from windlass.protocol.exchange import Wire


class ResourceView(Wire, frozen=True, kw_only=True, omit_defaults=True):
    resource_id: str
    provider: str
    type: str
    filename: str
    size_bytes: int
    created_at: str
    owner_id: str
    visibility: str
    mime_type: str
    sha256: str
    download_url: str
    expires_at: str | None = None
    metadata: msgspec.Raw | None = None


class ResourceList(Wire, frozen=True, kw_only=True):
    items: list[ResourceView]
    next_cursor: str | None = None


class UploadBody(Wire, frozen=True, kw_only=True):
    """A file that will come in parts."""

    filename: str
    size_bytes: int
    provider: str = "local"
    mime_type: str | None = None
    sha256: str | None = None
    chunk_size: int | None = None
    metadata: dict[str, Any] | None = None
    visibility: str = "private"


class CompleteBody(Wire, frozen=True, kw_only=True):
    sha256: str | None = None


class UploadView(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """How an upload stands; parts are numbered from 0."""

    upload_id: str
    filename: str
    size_bytes: int
    mime_type: str
    chunk_size: int
    uploaded_bytes: int
    next_part: int
    """The first that is missing; the number of parts when none is."""
    total_parts: int
    completed_parts: list[int]
    status: str
    """pending, completed or aborted."""
    created_at: str
    updated_at: str
    sha256: str | None = None
    resource_id: str | None = None
    expires_at: str | None = None
    metadata: msgspec.Raw | None = None


class PartView(Wire, frozen=True, kw_only=True):
    upload_id: str
    part_number: int
    received_bytes: int
    uploaded_bytes: int
    next_part: int
    status: str
