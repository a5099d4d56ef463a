"""The ledger: what attempts do outside while they run, and who allowed what cannot be undone.

An action is written before it is done, under the attempt that does it, and again with its outcome.
One that has no outcome when its attempt is over is `unknown`: it may have happened. What cannot be
undone needs an approval, which a person gives for one attempt of one task and which counts once.
Of an approval's token only the hash is kept.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec

from windlass.model.errors import BadRequest
from windlass.model.rows import Json, Row
from windlass.model.states import ATTEMPT_LIVE, AttemptState
from windlass.model.values import is_list, is_object

CALL_ID_MAX = 200
TOOL_MAX = 200
SUMMARY_MAX = 240
PAYLOAD_MAX = 64 * 1024
"""Characters of what goes into an action, or comes out of it, that are kept."""
_PREFIX = "wla_"
_TOKEN = re.compile(r"wla_[0-9A-Za-z-]+_[0-9A-Za-z]+")
_HANDED = "approval:"


class EffectClass(StrEnum):
    """What an action may change, the least first."""

    LOCAL_READ = "env_local_read"
    LOCAL_MUTATION = "env_local_mutation"
    EXTERNAL_READ = "external_read"
    EXTERNAL_WRITE = "external_write"
    IRREVERSIBLE = "external_irreversible"


_SEVERITY = {effect: place for place, effect in enumerate(EffectClass)}


class ActionState(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


UNKNOWN = "unknown"
"""How an action is shown that has no outcome although its attempt is over."""


class ApprovalState(StrEnum):
    ACTIVE = "active"
    CONSUMED = "consumed"
    REVOKED = "revoked"


EXPIRED = "expired"
"""How an approval is shown that nobody has used in time."""


class Action(Row, frozen=True, kw_only=True):
    """One thing an attempt does outside: a call of a tool."""

    TABLE = "actions"
    FIXED = frozenset(
        {"run_id", "task_id", "attempt_id", "call_id", "tool", "effect", "input", "started_at"}
        | {"approval_id", "seq"}
    )
    id: str
    run_id: str
    task_id: str
    attempt_id: str
    call_id: str
    """What its attempt calls it: the same call told twice is one action."""
    tool: str
    effect: EffectClass
    state: ActionState = ActionState.RUNNING
    summary: str = ""
    input: Json = "null"
    output: Json | None = None
    error: str = ""
    approval_id: str = ""
    seq: int
    """The run's, when it began: actions in their order."""
    started_at: int
    finished_at: int | None = None


class Approval(Row, frozen=True, kw_only=True):
    """Somebody allows one attempt of a task one action of a class."""

    TABLE = "approvals"
    FIXED = frozenset(
        {"run_id", "task_id", "attempt_id", "effect", "token_hash", "reason", "approved_by"}
        | {"created_at", "expires_at"}
    )
    id: str
    run_id: str
    task_id: str
    attempt_id: str
    """The attempt it is for: the one that runs, else the next one. Another one is another try,
    which has to be allowed anew."""
    effect: EffectClass
    token_hash: str
    state: ApprovalState = ApprovalState.ACTIVE
    reason: str
    approved_by: str
    created_at: int
    expires_at: int
    used_by: str = ""
    """The action it was used for."""
    used_at: int | None = None
    handed: int = 0
    """Whether somebody has shown its token to the run: its attempt may name it from then on."""


class ActionCall(msgspec.Struct, frozen=True):
    """What an attempt says of an action before it does it."""

    call_id: str
    tool: str
    effect: EffectClass
    input: Json = "null"
    summary: str = ""
    token: str = ""
    """That of an approval."""


class ActionOutcome(msgspec.Struct, frozen=True):
    call_id: str
    state: ActionState
    output: Json | None = None
    error: str = ""
    summary: str = ""


# Tools and their classes

TOOLS: Mapping[str, EffectClass] = {
    **dict.fromkeys(("read", "list", "bg_status"), EffectClass.LOCAL_READ),
    **dict.fromkeys(("write", "edit", "exec"), EffectClass.LOCAL_MUTATION),
    **dict.fromkeys(("web_search", "web_fetch", "browser_observe"), EffectClass.EXTERNAL_READ),
    **dict.fromkeys(
        ("send", "react", "browser_action", "generate_image", "speak"), EffectClass.EXTERNAL_WRITE
    ),
    "send_email": EffectClass.IRREVERSIBLE,
}
"""What tools of these names do at least, whatever whoever calls them says."""


def effect_of(tool: str, named: str, policy: Mapping[str, EffectClass]) -> EffectClass:
    """The class of a call: the worse of what the policy says of the tool and what its caller says.
    A tool of which neither says anything is refused."""
    known = policy.get(tool)
    if not named:
        if known is None:
            raise BadRequest(
                f'tool "{tool:.100}" is in no policy: name its effect ({", ".join(EffectClass)}),'
                f" or start the server with --tool-effects {tool:.100}=CLASS"
            )
        return known
    effect = read_effect(named)
    return effect if known is None else max(effect, known, key=_SEVERITY.__getitem__)


def read_effect(named: str) -> EffectClass:
    try:
        return EffectClass(named)
    except ValueError:
        raise BadRequest(
            f'no effect class "{named:.60}"; there are {", ".join(EffectClass)}'
        ) from None


@lru_cache(maxsize=8)
def read_policy(text: str) -> Mapping[str, EffectClass]:
    """The built-in classes and those of a setting, as in `deploy=external_irreversible,ping=…`."""
    policy = dict(TOOLS)
    for part in filter(None, (part.strip() for part in text.split(","))):
        tool, equals, named = part.partition("=")
        if not equals or not tool.strip():
            raise BadRequest(f'"{part:.100}" is not TOOL=CLASS, such as deploy=external_write')
        policy[tool.strip()] = read_effect(named.strip())
    return policy


# Tokens


def new_token(approval_id: str, secret: str) -> str:
    return f"{_PREFIX}{approval_id}_{secret}"


def approval_named(token: str) -> str:
    """The approval a token is of; empty if it is none of ours."""
    head, _, secret = token.removeprefix(_PREFIX).partition("_")
    return head if token.startswith(_PREFIX) and secret else ""


def token_hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def opens(approval: Approval, token: str) -> bool:
    return hmac.compare_digest(approval.token_hash, token_hash(token))


def without_tokens(value: Any) -> Any:
    """A value in which every approval's token is blotted out, wherever it stands."""
    return retold(value, lambda token: "[approval token]")


def retold(value: Any, instead: Callable[[str], str]) -> Any:
    """A value with something else in place of every token of an approval."""
    if isinstance(value, str):
        return _TOKEN.sub(lambda found: instead(found[0]), value) if _PREFIX in value else value
    if is_list(value):
        return [retold(each, instead) for each in value]
    if is_object(value):
        return {key: retold(each, instead) for key, each in value.items()}
    return value


def reference(approval_id: str) -> str:
    """What an attempt names an approval by that was handed to it."""
    return f"{_HANDED}{approval_id}"


def handed_named(text: str) -> str:
    """The approval that a reference names; empty if it is none."""
    return text.removeprefix(_HANDED) if text.startswith(_HANDED) else ""


# As people see them


def shown_action(action: Action, attempt: AttemptState | None) -> str:
    """Its state; `unknown` where nobody will say any more how it ended."""
    over = attempt is None or attempt not in ATTEMPT_LIVE
    return UNKNOWN if action.state is ActionState.RUNNING and over else str(action.state)


def shown_approval(approval: Approval, now: int, *, attempt_over: bool) -> str:
    """Its state; one that nobody can use any more is not active."""
    if approval.state is not ApprovalState.ACTIVE:
        return str(approval.state)
    if attempt_over:
        return str(ApprovalState.REVOKED)
    return EXPIRED if approval.expires_at <= now else str(approval.state)
