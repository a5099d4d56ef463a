"""Verdicts: what a verifier answers about a claim."""

from enum import StrEnum
from typing import Any

import msgspec

from windlass.model.rows import Json


class Judgement(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    ASK = "ask"


class Verdict(msgspec.Struct, frozen=True):
    """The answer of an attempt that verifies."""

    verdict: Judgement
    summary: str = ""
    failure_class: str = ""
    request_replan: bool = False
    checkpoint: dict[str, Any] | None = None
    """What to ask a person, where the verifier leaves it to one."""


def read_verdict(output: Json) -> Verdict | str:
    """The verdict, or what is wrong with the answer."""
    try:
        found = msgspec.json.decode(output, type=Verdict)
    except msgspec.ValidationError as error:
        return f'no verdict: {error}; answer {{"verdict": "accepted"}}, "rejected" or "ask"'
    if found.request_replan and found.verdict is not Judgement.REJECTED:
        return "only what is rejected can be planned anew"
    return found
