"""Which addresses the server may call: push workers say where they listen, we do not trust it."""

import ipaddress
from collections.abc import Sequence
from fnmatch import fnmatch
from urllib.parse import urlsplit

from windlass.model.errors import BadRequest, Denied

LOOPBACK = ("127.0.0.0/8", "::1/128", "localhost")


def check_push_url(url: str, allowed: Sequence[str]) -> None:
    """Refuse a worker's address unless its host is on the operator's list.

    A name must be on the list as a name: resolving it would let whoever owns the name choose.
    """
    if not url.isprintable() or " " in url:
        # What splits the address drops tabs and newlines, so it would check another one than is
        # called.
        raise BadRequest(f"push worker url {url!r} holds blanks or control characters")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadRequest(f'push worker url "{url}": {error}') from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadRequest(f'push worker url "{url}" is not an http(s) address')
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadRequest(f'push worker url "{url}": only scheme, host, port and path are taken')
    if not any(_matches(host, entry) for entry in allowed):
        raise Denied(
            f'push worker host "{host}" is not allowed; add it with --push-allow {host}'
            " or let the worker pull"
        )


def _matches(host: str, entry: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "/" not in entry and fnmatch(host.lower(), entry.lower())
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
