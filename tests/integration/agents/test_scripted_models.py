"""A scripted model answers as its script says, whole or streamed."""

import json
from typing import Any

import httpx
import pytest

from windlass.testing.models import ScriptedModels, read_script
from windlass.testing.models.script import Asked, Line, Script

SCRIPT = """
- {role: plan, text: first}
- {alias: a, contains: again, text: second, times: 0}
- {turn: 1, thinking: hm, text: two words, calls: [{name: add, arguments: {n: 1}}], tokens: [7, 3]}
- {model: busy, status: 429, retry_after_s: 1.5}
- {model: shy, refusal: I will not}
- {model: cut, cut: true}
"""


def asked(**fields: Any) -> Asked:
    return Asked(**{"model": "m", "role": "", "alias": "", "turn": 0, "last": "", **fields})


def test_the_first_line_that_fits_and_is_left_answers() -> None:
    script = read_script(SCRIPT)
    answers = [
        script.answer(asked(role="plan")),
        script.answer(asked(role="plan")),
        script.answer(asked(alias="a", last="once again")),
        script.answer(asked(alias="a", last="again")),
    ]
    assert [line and line.text for line in answers] == ["first", None, "second", "second"]


@pytest.mark.parametrize("text", ["{", "- {rule: plan}", "- 3", "a: 1"])
def test_a_script_with_a_mistake_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a script"):
        read_script(text)


def request(model: str, *messages: dict[str, Any], stream: bool = False) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), "stream": stream}


def test_it_speaks_chat_completions() -> None:
    brief = {"role": "user", "content": json.dumps({"role": "plan", "task": {"alias": "x"}})}
    said = {"role": "assistant", "content": "…"}
    with ScriptedModels(read_script(SCRIPT)) as models:
        http = httpx.Client(base_url=models.url)
        path = "/chat/completions"
        whole = http.post(path, json=request("m", brief)).json()
        assert whole["choices"][0]["message"]["content"] == "first"
        text = http.post(path, json=request("m", brief, said, stream=True)).text
        events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        assert events.pop() == "[DONE]"
        chunks = [json.loads(event) for event in events]
        assert chunks[-1]["usage"]["total_tokens"] == 10
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
        assert [delta["content"] for delta in deltas if delta.get("content")] == ["two ", "words"]
        [call] = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
        assert call["function"] == {"name": "add", "arguments": '{"n":1}'}
        busy = http.post(path, json=request("busy", brief))
        assert (busy.status_code, busy.headers["retry-after-ms"]) == (429, "1500")
        shy = http.post(path, json=request("shy", brief)).json()
        assert shy["choices"][0]["message"]["refusal"] == "I will not"
        with pytest.raises(httpx.RemoteProtocolError):
            http.post(path, json=request("cut", brief, stream=True))
        nothing = http.post(path, json=request("m", brief))
        assert nothing.status_code == 400
        assert "no line left" in nothing.text
        seen = http.get(f"http://127.0.0.1:{models.port}/asked").json()
        assert [row["model"] for row in seen] == ["m", "m", "busy", "shy", "cut", "m"]
        http.close()


def test_a_line_may_answer_for_ever() -> None:
    script = Script([Line(text="hi", times=0), Line(text="never")])
    assert {(script.answer(asked()) or Line()).text for _ in range(5)} == {"hi"}
