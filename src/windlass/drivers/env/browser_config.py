"""What a browser's resource may say, and the command line that follows from it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from windlass.drivers.env import fields
from windlass.ports.env import Config

BLANK = "about:blank"
MEMORY_MB = 1_024
"""What a browser may use with all its parts, unless its resource says otherwise."""
_ALWAYS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--disk-cache-size=104857600",
    "--password-store=basic",
    "--hide-crash-restore-bubble",
    # A process made ready for a page that nobody may ever open: a fifth of what a start costs.
    "--disable-features=SpareRendererForSitePerProcess",
)
# Flags that change how pages look or behave, and open nothing.
_ALLOWED = frozenset(
    (
        "--autoplay-policy",
        "--disable-blink-features",
        "--disable-notifications",
        "--disable-popup-blocking",
        "--disable-smooth-scrolling",
        "--force-color-profile",
        "--force-dark-mode",
        "--force-device-scale-factor",
        "--force-prefers-reduced-motion",
        "--hide-scrollbars",
        "--mute-audio",
        "--user-agent",
    )
)
_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _viewport(value: object) -> str:
    wanted = 'a size, such as {"width": 1280, "height": 720}, each from 100 to 8192'
    if not isinstance(value, dict):
        return wanted
    size = cast(dict[object, object], value)
    each = fields.whole(100, 8_192)
    fits = set(size) == {"width", "height"} and not any(each(side) for side in size.values())
    return "" if fits else wanted


def _args(value: object) -> str:
    wanted = f"a list of flags, of {', '.join(sorted(_ALLOWED))}"
    if fields.words(value):
        return wanted
    unknown = [arg for arg in cast(list[str], value) if arg.partition("=")[0] not in _ALLOWED]
    return wanted if unknown else ""


def _is_page(url: str) -> bool:
    return url == BLANK or _is_url(url, ("http", "https"))


def _is_proxy(url: str) -> bool:
    return _is_url(url, ("http", "https", "socks4", "socks5"))


def _is_url(url: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and not re.search(r"[\s,;]", url)


_FIELDS: dict[str, fields.Check] = {
    "viewport": _viewport,
    "locale": fields.text('a language, such as "de-CH"', _LOCALE.fullmatch),
    "timezone": fields.text(
        'a time zone, such as "Europe/Zurich"', lambda zone: zone in available_timezones()
    ),
    "args": _args,
    "start_url": fields.text(f"a page: http://…, https://… or {BLANK}", _is_page),
    "proxy": fields.text("a proxy: http://host:port or socks5://host:port", _is_proxy),
    "memory_mb": fields.whole(256, 1 << 20),
    "network": fields.text("one of host, none", lambda name: name in ("host", "none")),
}


def problems(config: Config) -> list[str]:
    """What is wrong with a browser's config."""
    found = fields.problems(config, _FIELDS)
    if is_apart(config) and "proxy" in config and not found:
        text = 'config "proxy" is of no use where "network" is "none": leave one of them out'
        return [text]
    return found


def is_apart(config: Config) -> bool:
    """Whether it has no network."""
    return config.get("network") == "none"


def memory_bytes_max(config: Config) -> int:
    return int(config.get("memory_mb", MEMORY_MB)) << 20


def command(program: str, profile: Path, config: Config) -> list[str]:
    size: Mapping[str, int] = config.get("viewport") or {"width": 1280, "height": 720}
    args = [program, *_ALWAYS, f"--user-data-dir={profile}"]
    args.append(f"--window-size={size['width']},{size['height']}")
    if os.geteuid() == 0:
        args.append("--no-sandbox")  # which Chromium has only for ordinary users
    if locale := config.get("locale"):
        args += [f"--lang={locale}", f"--accept-lang={locale}"]
    if proxy := config.get("proxy"):
        args.append(f"--proxy-server={proxy}")
    return [*args, *config.get("args", ()), BLANK]


def variables(home: Path, config: Config) -> dict[str, str]:
    """Its environment: nothing of ours, which may hold secrets."""
    found = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    if zone := config.get("timezone"):
        found["TZ"] = str(zone)
    if locale := config.get("locale"):
        found["LANGUAGE"] = str(locale)
    return found
