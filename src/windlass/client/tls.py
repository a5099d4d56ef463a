"""Whom we trust to be the server, where the way to it is encrypted."""

import ssl

import httpx

from windlass.model.errors import BadRequest


def tls_context(url: str, ca: str = "") -> ssl.SSLContext | None:
    """For an https address, what its certificate is checked against; None for any other.

    The authority in the file `ca`, and nobody else; without it those the machine trusts, the one in
    SSL_CERT_FILE among them.
    """
    if not url.startswith("https://"):
        return None
    if not ca:
        context = httpx.create_ssl_context()
        context.load_default_certs()
        return context
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise BadRequest(f"cannot use {ca} as a certificate authority: {error}") from error


def http_tls(url: str, ca: str = "") -> ssl.SSLContext:
    """The same for an HTTP client, which wants a context in any case: where nothing is encrypted
    one that trusts nobody, since reading whom the machine trusts takes longer than a request."""
    return tls_context(url, ca) or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
