"""What a holder may ask of a browser, and what never reaches it."""

import json
from pathlib import Path
from typing import Any

import pytest

from windlass.drivers.env.screening import Screen

FILES = Path("/srv/places/a/files")


def ask(method: str, **params: Any) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    call = {"id": 7, "method": method, "sessionId": "S", "params": params}
    screened = Screen(FILES).screen(json.dumps(call))
    assert bool(screened.forward) != bool(screened.answer)
    return (
        json.loads(screened.forward) if screened.forward else None,
        json.loads(screened.answer) if screened.answer else None,
    )


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Page.navigate", {"url": "https://example.org/x?y=1#z"}),
        ("Page.navigate", {"url": "about:blank"}),
        ("Target.createTarget", {"url": ""}),
        ("Runtime.evaluate", {"expression": "1 + 1", "returnByValue": True}),
        ("Input.insertText", {"text": "file:///etc/passwd ümlaut 🙂"}),
        ("Browser.getVersion", {}),
    ],
)
def test_what_concerns_pages_passes_unchanged(method: str, params: dict[str, Any]) -> None:
    forward, _ = ask(method, **params)
    assert forward == {"id": 7, "method": method, "sessionId": "S", "params": params}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Browser.close", {}),
        ("Browser.crash", {}),
        ("Tethering.bind", {"port": 80}),
        ("SystemInfo.getInfo", {}),
        ("Target.sendMessageToTarget", {"message": "{}", "sessionId": "x"}),
        ("Page.navigate", {"url": "file:///etc/passwd"}),
        ("Page.navigate", {"url": " \x01FiLe:///etc/passwd"}),
        ("Page.navigate", {"url": "fi\tl\ne:///etc/passwd"}),
        ("Page.navigate", {"url": "view-source:file:///etc/passwd"}),
        ("Page.navigate", {"url": "/etc/passwd"}),
        ("Target.createTarget", {"url": "chrome://settings"}),
        ("Network.loadNetworkResource", {"url": "file:///etc/passwd"}),
        ("DOM.setFileInputFiles", {"files": ["/etc/passwd"]}),
        ("DOM.setFileInputFiles", {"files": ["ok", "/workspace/../etc/passwd"]}),
        ("Input.dispatchDragEvent", {"data": {"files": ["/etc/passwd"]}}),
    ],
)
def test_what_reaches_beyond_them_is_answered_with_an_error(
    method: str, params: dict[str, Any]
) -> None:
    _, answer = ask(method, **params)
    assert answer is not None
    assert (answer["id"], answer["sessionId"]) == (7, "S")
    assert answer["error"]["message"]


def test_paths_of_the_workspace_are_translated() -> None:
    forward, _ = ask("DOM.setFileInputFiles", files=["a.txt", "/workspace/deep/b"])
    assert forward is not None
    assert forward["params"]["files"] == [f"{FILES}/a.txt", f"{FILES}/deep/b"]
    forward, _ = ask("Browser.setDownloadBehavior", behavior="allow", downloadPath="/etc")
    assert forward is not None
    assert forward["params"] == {"behavior": "allow", "downloadPath": str(FILES)}


@pytest.mark.parametrize("message", ["", "[]", "1", '{"id": 1}', '{"method": 3}', b"\xff", "{" * 9])
def test_what_is_no_message_is_refused(message: str | bytes) -> None:
    screened = Screen(FILES).screen(message)
    assert not screened.forward
    assert "error" in json.loads(screened.answer)
