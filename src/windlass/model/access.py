"""Rows of who may do what: people, tokens, and the record of what they did."""

from windlass.model.rows import Json, Row


class User(Row, frozen=True, kw_only=True):
    """A person who signs in with a password; only its hash is kept."""

    TABLE = "users"
    FIXED = frozenset({"username", "created_at", "tenant"})
    id: str
    username: str
    display_name: str = ""
    password_hash: str
    roles: Json = "[]"
    active: int = 1
    created_at: int
    updated_at: int
    tenant: str = "default"
    """Where the user acts; `*`: in whichever tenant is named."""


class Audit(Row, frozen=True, kw_only=True):
    """Who did what to what."""

    TABLE = "audit"
    id: str
    at: int
    actor: str
    action: str
    target_type: str = ""
    target_id: str = ""
    detail: Json = "{}"
    tenant: str = "default"


class Token(Row, frozen=True, kw_only=True):
    """An API token; only its hash is kept."""

    TABLE = "api_tokens"
    FIXED = frozenset({"name", "hash", "role", "workers", "created_at", "tenant"})
    id: str
    name: str
    hash: str
    role: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    workers: str = ""
    """The worker it may act for, or `prefix*`; empty: any."""
    tenant: str = "default"
    """Where it acts; `*`: in whichever tenant is named."""
