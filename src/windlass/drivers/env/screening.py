"""What a session's holder may ask of a browser over DevTools.

Everything that concerns pages. What reaches beyond them, to the machine's files, ports or settings,
or ends the browser, is answered with an error and never reaches it; paths of the workspace are
translated to where it really is.
"""

import posixpath
import re
from pathlib import Path
from typing import Any, cast

import msgspec

from windlass.drivers.env.names import WORKSPACE

_REFUSED = frozenset(
    (
        "Browser.close",
        "Browser.crash",
        "Browser.crashGpuProcess",
        "Browser.getBrowserCommandLine",
        "Target.exposeDevToolsProtocol",
        "Target.sendMessageToTarget",  # wraps a message that would not be looked at
    )
)
_REFUSED_DOMAINS = ("Extensions.", "PWA.", "SystemInfo.", "Tethering.")
_SCHEMES = frozenset(("about", "blob", "data", "http", "https"))
_DOWNLOADS = frozenset(("Browser.setDownloadBehavior", "Page.setDownloadBehavior"))
# What a browser leaves out of an address before it looks at it.
_IGNORED = re.compile(r"[\t\n\r]|^[\0- ]+")
_REFUSAL = -32_000


class Screened(msgspec.Struct, frozen=True):
    forward: str = ""
    """To the browser; or else"""
    answer: str = ""
    """to whoever asked."""


class _Refusal(Exception):
    pass


class Screen:
    """Looks at what comes from a holder; `files` is where the place's workspace is."""

    def __init__(self, files: Path) -> None:
        self._files = files

    def screen(self, message: str | bytes) -> Screened:
        try:
            asked = msgspec.json.decode(message)
        except msgspec.DecodeError as error:
            return Screened(answer=_refused(None, f"no message of DevTools: {error}"))
        if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):  # pyright: ignore[reportUnknownMemberType]
            return Screened(answer=_refused(None, "no message of DevTools"))
        call = cast(dict[str, Any], asked)
        try:
            self._look(call)
        except _Refusal as refusal:
            return Screened(answer=_refused(call, str(refusal)))
        # Written anew, so that the browser reads it just as it was read here.
        return Screened(forward=msgspec.json.encode(call).decode())

    def _look(self, call: dict[str, Any]) -> None:
        method = str(call["method"])
        if method in _REFUSED or method.startswith(_REFUSED_DOMAINS):
            raise _Refusal(f"{method} is not for holders of a session")
        params = call.get("params")
        if not isinstance(params, dict):
            return
        given = cast(dict[str, Any], params)
        if isinstance(url := given.get("url"), str):
            _check_url(url)
        if method in _DOWNLOADS and "downloadPath" in given:
            given["downloadPath"] = str(self._files)
        for holder in (given, given.get("data")):
            if isinstance(holder, dict) and "files" in holder:
                holder["files"] = [
                    self._inside(path) for path in cast(list[object], holder["files"])
                ]

    def _inside(self, path: object) -> str:
        whole = posixpath.normpath(posixpath.join(WORKSPACE, str(path)))
        if not whole.startswith(f"{WORKSPACE}/"):
            raise _Refusal(f'"{path}" is outside {WORKSPACE}: write the file there first')
        return str(self._files / whole.removeprefix(f"{WORKSPACE}/"))


def _check_url(url: str) -> None:
    scheme, colon, _ = _IGNORED.sub("", url).partition(":")
    if url and (not colon or scheme.lower() not in _SCHEMES):
        raise _Refusal(f'"{url[:80]}" is not for holders of a session: open http or https')


def _refused(call: dict[str, Any] | None, reason: str) -> str:
    answer: dict[str, Any] = {"error": {"code": _REFUSAL, "message": reason}}
    for name in ("id", "sessionId"):
        if call is not None and name in call:
            answer[name] = call[name]
    return msgspec.json.encode(answer).decode()
