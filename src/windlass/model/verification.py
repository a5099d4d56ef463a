"""Verification policies as people and planners write them, read into what the graph keeps."""

from collections.abc import Iterator
from typing import Any

from windlass.model.errors import Problem
from windlass.model.graph import OnReject, Target, Transport, Verification
from windlass.model.values import is_list, is_object

BASIC = "builtin.basic"
LLM = "llm.verifier"
_MODES = {"builtin_basic": BASIC, "llm": LLM}
_TRANSPORTS = {"queue": Transport.PULL, "http": Transport.PUSH, "local_func": Transport.LOCAL}
_ON_REJECT = {
    **{str(word): word for word in OnReject},
    "fail_task": OnReject.FAIL,
    "request_replan": OnReject.REPLAN,
}
_LOOKED_AT = frozenset({"require_structured_output", "required_artifact_kinds", "instructions"})
_FIELDS = frozenset({"mode", "verifier_profile", "exec_type", "on_reject", "timeout_seconds"})
_PROFILE_CHARS_MAX = 200
_TIMEOUT_S_MAX = 30 * 24 * 3600


def profile_target(profile: str, transport: Transport = Transport.PULL) -> Target:
    """How an attempt reaches whoever serves a profile; what is built in is in this process."""
    own = profile.startswith("builtin.")
    return Target(Transport.LOCAL if own else transport, profile)


def read_verification(given: object, where: str, *, planned: bool) -> Verification | list[Problem]:
    """A policy, or everything that is wrong with it. Only what is `planned` can be replanned."""
    if not is_object(given):
        return [
            Problem(where, "a verification policy is an object", 'as in {"on_reject": "retry"}')
        ]
    found = list(_problems(given, where, planned=planned))
    if found:
        return found
    profile = given.get("verifier_profile") or _MODES.get(given.get("mode") or "", LLM)
    transport = _TRANSPORTS[given.get("exec_type") or "queue"]
    return Verification(
        profile_target(profile, transport),
        _ON_REJECT[given.get("on_reject") or "fail"],
        {key: value for key, value in given.items() if key in _LOOKED_AT or key == "mode"},
        int(float(given.get("timeout_seconds") or 0) * 1000),
    )


def _problems(given: dict[str, Any], where: str, *, planned: bool) -> Iterator[Problem]:
    known = _FIELDS | _LOOKED_AT
    for name in given.keys() - known:
        yield Problem(f"{where}.{name}", "not known here", f"one of {', '.join(sorted(known))}")
    for name, words in (("mode", _MODES), ("exec_type", _TRANSPORTS), ("on_reject", _ON_REJECT)):
        value = given.get(name)
        if value not in (None, "") and (not isinstance(value, str) or value not in words):
            hint = f"one of {', '.join(sorted(words))}"
            yield Problem(f"{where}.{name}", f"{value!r:.60} is not known here", hint)
    if not planned and _ON_REJECT.get(str(given.get("on_reject"))) is OnReject.REPLAN:
        hint = "use fail, retry or ask"
        yield Problem(f"{where}.on_reject", "nothing here was planned, to be planned anew", hint)
    profile = given.get("verifier_profile", "")
    if not isinstance(profile, str) or len(profile) > _PROFILE_CHARS_MAX:
        yield Problem(f"{where}.verifier_profile", "not the name of a profile")
    timeout: Any = given.get("timeout_seconds")
    plain = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and (not plain or not 0 <= timeout <= _TIMEOUT_S_MAX):
        yield Problem(f"{where}.timeout_seconds", f"not seconds from 0 to {_TIMEOUT_S_MAX:,}")
    kinds = given.get("required_artifact_kinds", [])
    if not is_list(kinds) or not all(isinstance(kind, str) for kind in kinds):
        yield Problem(f"{where}.required_artifact_kinds", "not a list of texts")
    if not isinstance(given.get("require_structured_output", False), bool):
        yield Problem(f"{where}.require_structured_output", "neither true nor false")
