"""Whom we trust to be the server, where the way to it is encrypted."""

import os
import ssl

import httpx

from windlass.model.errors import BadRequest

_UNKNOWN_SIGNERS = ("issuer certificate", "self-signed", "self signed")
"""What OpenSSL says of a signer we do not trust, and not of a wrong name or a certificate that has
expired."""


def tls_context(url: str, ca: str = "") -> ssl.SSLContext | None:
    """For an https address, what its certificate is checked against; None for any other.

    The authority in the file `ca`, and nobody else; without it those the machine trusts, the one in
    SSL_CERT_FILE among them.
    """
    return trusting(ca) if url.startswith("https://") else None


def trusting(ca: str = "") -> ssl.SSLContext:
    try:
        if ca:
            return ssl.create_default_context(cafile=ca)
        context = httpx.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        named = ca or f"{os.environ.get('SSL_CERT_FILE', '')} (SSL_CERT_FILE)"
        raise BadRequest(f"cannot use {named} as a certificate authority: {error}") from error
    context.load_default_certs()
    return context


def why_unreachable(error: Exception) -> str:
    """What went wrong on the way to a server, and what to do where we trust nobody who signed its
    certificate."""
    text = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text and any(sign in text for sign in _UNKNOWN_SIGNERS):
        return f"{text}; name who signed its certificate with --tls-ca FILE, or SSL_CERT_FILE"
    return text


def http_tls(url: str, ca: str = "") -> ssl.SSLContext:
    """The same for an HTTP client, which wants a context in any case: where nothing is encrypted
    one that trusts nobody, since reading whom the machine trusts takes longer than a request."""
    return tls_context(url, ca) or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
