"""Questions: what a checkpoint asks a person beyond yes or no."""

from typing import Any

import msgspec

from windlass.model.rows import Json
from windlass.model.values import is_object

_TEXT_MAX = 4_000
_OPTIONS_MAX = 50
_KINDS = ("choice", "freeform")
_TIMEOUT_S_MAX = 30 * 24 * 3600


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to choose, or the invitation to write one."""

    id: str
    label: str = ""
    kind: str = "choice"
    description: str = ""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of a checkpoint that are not columns."""

    options: tuple[Option, ...] = ()
    default_action: dict[str, Any] | None = None
    """The answer that counts when nobody gave one in time."""
    severity: str = ""
    reason_code: str = ""
    resume_policy: dict[str, Any] | None = None
    blocks_run: bool = False
    """Nothing of the run is handed out until it is answered."""
    judging: bool = False
    """It was asked while a claim was being judged, which goes on after the answer."""
    asked_by: str = ""
    """Who asked; empty where an attempt or a verifier did."""

    def json(self) -> Json:
        return msgspec.json.encode(self).decode()


def read_question(details: Json | None) -> Question:
    return Question() if details is None else msgspec.json.decode(details, type=Question)


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What somebody answered."""

    mode: str
    """`select_option`, `freeform` or `use_default`."""
    option_id: str = ""
    freeform_input: str = ""


class Request(msgspec.Struct, frozen=True):
    """A question as an attempt or a caller puts it."""

    question: str
    details: Question
    timeout_ms: int = 0


class _Written(msgspec.Struct, frozen=True):
    """The same as it comes over the wire."""

    question: str
    options: list[Option] = []
    default_action: dict[str, Any] | None = None
    timeout_seconds: float = 0
    severity: str = ""
    reason_code: str = ""
    blocks_run: bool = False
    resume_policy: dict[str, Any] | None = None


def read_request(given: Any) -> Request | str:
    """A question, or what is wrong with it."""
    try:
        read = msgspec.convert(given, _Written)
    except msgspec.ValidationError as error:
        return f"not a question: {error}"
    if not read.question.strip() or len(read.question) > _TEXT_MAX:
        return f"a question has 1 to {_TEXT_MAX:,} characters"
    ids = [option.id for option in read.options]
    if len(set(ids)) < len(ids) or "" in ids or len(ids) > _OPTIONS_MAX:
        return f"options need ids of their own, and there are at most {_OPTIONS_MAX}"
    for option in read.options:
        if option.kind not in _KINDS:
            return f'option "{option.id:.60}" is of the kind {option.kind:.40}: choice or freeform'
    if not 0 <= read.timeout_seconds <= _TIMEOUT_S_MAX:
        return f"timeout_seconds is from 0 to {_TIMEOUT_S_MAX:,}"
    default = read.default_action
    if read.timeout_seconds and default is None:
        return "a question with a time-out needs a default_action for when nobody answers"
    if default is not None and not _is_reply(default, ids):
        return "default_action must choose an option, or have freeform_input"
    details = Question(
        tuple(read.options),
        default,
        read.severity,
        read.reason_code,
        read.resume_policy,
        read.blocks_run,
    )
    return Request(read.question, details, int(read.timeout_seconds * 1000))


def _is_reply(given: dict[str, Any], ids: list[str]) -> bool:
    try:
        reply = msgspec.convert(given, Reply) if is_object(given) else None
    except msgspec.ValidationError:
        return False
    if reply is None:
        return False
    if reply.mode == "select_option":
        return reply.option_id in ids
    return reply.mode == "freeform" and bool(reply.freeform_input)
