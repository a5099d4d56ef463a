"""Tenants: whose a row is, who sees it, and who works for whom.

Everything belongs to a tenant, `default` where nobody says otherwise. `*` is no tenant: a worker of
`*` works for all, and whoever acts for `*` sees all.
"""

import re

from windlass.model.errors import BadRequest
from windlass.model.rows import Row

DEFAULT = "default"
ALL = "*"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Tenant(Row, frozen=True, kw_only=True):
    """A team, or whoever else must not see the others' work."""

    TABLE = "tenants"
    FIXED = frozenset({"created_at"})
    id: str
    description: str = ""
    created_at: int
    weight: int = 1
    """How much of what is free it gets, beside the others that have something waiting."""


def check_tenant(name: str) -> str:
    """A tenant's name, or `BadRequest`."""
    if not _NAME.fullmatch(name):
        raise BadRequest(
            f"{name[:80]!r} cannot be a tenant's name: up to 63 small letters, digits and hyphens"
        )
    return name


def own_name(tenant: str, name: str) -> str:
    """A name that each tenant has for itself, as it is kept where all names lie together."""
    return name if tenant == DEFAULT else f"{tenant} {name}"


def has_tenant(table: type[Row]) -> bool:
    return "tenant" in table.__struct_fields__
