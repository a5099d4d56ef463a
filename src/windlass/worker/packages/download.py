"""Gets an archive to this machine, without trusting whoever sends it."""

import hashlib
import shutil
import threading
import time
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

import httpx

from windlass.protocol.packages.digest import CHUNK_BYTES, plain, sha256_of
from windlass.protocol.packages.errors import UNAVAILABLE, PackageError, invalid
from windlass.worker.packages.commands import Interrupted
from windlass.worker.packages.settings import PackageSettings

REDIRECTS_MAX = 5


def fetch(
    source: str,
    target: Path,
    settings: PackageSettings,
    *,
    sha256: str = "",
    bytes_max: int = 0,
    stop: threading.Event,
) -> str:
    """Put what is at a path or URL into `target`; its digest, which is the one that was given."""
    limit = bytes_max or settings.limits.archive_bytes
    path = local_path(source)
    with target.open("xb") as out:
        if path is None:
            found = _download(source, out, settings, limit, stop)
        else:
            found = _copy(path, out, limit)
    if sha256 and found != plain(sha256):
        raise invalid(f"{without_secrets(source)} has the SHA-256 {found}, not {plain(sha256)}")
    return found


def local_path(source: str) -> Path | None:
    """The file a source names, or nothing if it is for the network."""
    parts = urlsplit(source)
    if parts.scheme in ("http", "https"):
        return None
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if "://" in source:
        raise invalid(f'"{source[:200]}" cannot be fetched; give a path, or an http or https URL')
    return Path(source)


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port: who gets to see a token."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, (parts.hostname or "").lower(), port


def without_secrets(source: str) -> str:
    """A source as messages and receipts show it: passwords and signed queries stay here."""
    parts = urlsplit(source)
    if parts.scheme not in ("http", "https"):
        return source
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _copy(path: Path, out: BinaryIO, limit: int) -> str:
    try:
        if path.stat().st_size > limit:
            raise invalid(f"{path} has more than {limit} bytes")
        with path.open("rb") as file:
            shutil.copyfileobj(file, out, CHUNK_BYTES)
        with path.open("rb") as file:
            return sha256_of(file)
    except OSError as error:
        raise PackageError(UNAVAILABLE, f"cannot read {path}: {error.strerror}") from error


def _own_server(settings: PackageSettings) -> dict[str, httpx.BaseTransport | None]:
    """Our certificate and our authority are for our server, wherever redirects lead."""
    if settings.tls is None:
        return {}
    scheme, host, port = origin(settings.server)
    shown = f"[{host}]" if ":" in host else host
    return {f"{scheme}://{shown}:{port}": httpx.HTTPTransport(verify=settings.tls)}


def _download(
    url: str, out: BinaryIO, settings: PackageSettings, limit: int, stop: threading.Event
) -> str:
    shown = without_secrets(url)
    headers: dict[str, str] = {}
    if settings.server and settings.token and origin(url) == origin(settings.server):
        # httpx takes it off again when a redirect leads to somebody else.
        headers["Authorization"] = f"Bearer {settings.token}"
    timeout = httpx.Timeout(settings.download_s, connect=min(30.0, settings.download_s))
    found = hashlib.sha256()
    size = 0
    end = time.monotonic() + settings.download_s
    try:
        with (
            httpx.Client(
                timeout=timeout,
                follow_redirects=True,
                max_redirects=REDIRECTS_MAX,
                mounts=_own_server(settings),
            ) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            answer.raise_for_status()
            for chunk in answer.iter_bytes(CHUNK_BYTES):
                size += len(chunk)
                if size > limit:
                    raise invalid(f"{shown} sends more than {limit} bytes")
                if time.monotonic() > end:
                    text = f"{shown} takes more than {settings.download_s:g} s"
                    raise PackageError(UNAVAILABLE, text)
                if stop.is_set():
                    raise Interrupted
                found.update(chunk)
                out.write(chunk)
    except httpx.HTTPStatusError as error:
        text = f"{shown} answers {error.response.status_code}"
        raise PackageError(UNAVAILABLE, text) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PackageError(UNAVAILABLE, f"{shown} cannot be fetched: {error}") from error
    return found.hexdigest()
