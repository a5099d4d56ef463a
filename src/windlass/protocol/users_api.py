"""Bodies and views of users, signing in, and the audit trail."""

import msgspec

from windlass.protocol.exchange import Wire


class LoginBody(Wire, frozen=True, kw_only=True):
    username: str
    password: str


class UserView(Wire, frozen=True, kw_only=True):
    user_id: str
    username: str
    display_name: str
    roles: list[str]
    is_active: bool
    tenant: str = "default"


class UserList(Wire, frozen=True, kw_only=True):
    items: list[UserView]
    next_cursor: str | None = None


class SessionView(Wire, frozen=True, kw_only=True):
    access_token: str
    token_type: str
    expires_in: int
    user: UserView


class UserBody(Wire, frozen=True, kw_only=True):
    username: str
    password: str
    display_name: str = ""
    roles: list[str] = []
    tenant: str = ""
    """Where the user acts; empty: where the caller does."""


class ProfileBody(Wire, frozen=True, kw_only=True):
    display_name: str


class PasswordBody(Wire, frozen=True, kw_only=True):
    password: str
    current_password: str = ""
    """Needed from whoever changes their own without being an admin."""


class RoleBody(Wire, frozen=True, kw_only=True):
    role: str


class ActiveBody(Wire, frozen=True, kw_only=True):
    is_active: bool
    tenant: str = "default"


class AuditView(Wire, frozen=True, kw_only=True):
    event_id: str
    actor_id: str
    action: str
    target_type: str
    target_id: str
    metadata: msgspec.Raw
    created_at: str


class AuditList(Wire, frozen=True, kw_only=True):
    items: list[AuditView]
    next_cursor: str | None = None
