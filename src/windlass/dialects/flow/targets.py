"""What a node calls (`exec_type`, `service`, `func`, `script`, `pod`), and who fills in the rest.

A branch falls back to its fan-out, a node of a subflow to the subflow's node, field by field.
"""

from dataclasses import dataclass
from typing import Any

from windlass.dialects.fields import Fields, Problems
from windlass.dialects.plain import under
from windlass.dialects.pods import read_pod
from windlass.model.graph import Target, Transport, pod_target
from windlass.model.pods import PodSpec

CALL_FIELDS = frozenset({"service", "exec_type", "exec_mode", "func", "script", "pod"})

_TRANSPORTS = {
    "http": Transport.PUSH,
    "queue": Transport.PULL,
    "local_func": Transport.LOCAL,
    "local_script": Transport.SCRIPT,
    "pod": Transport.POD,
}
_SCRIPT_TEXTS = ("cmd", "code", "language", "work_dir", "stdin_mode", "output_mode")
_SCRIPT_FIELDS = frozenset({*_SCRIPT_TEXTS, "args", "env", "timeout_ms"})


@dataclass(frozen=True, slots=True)
class CallFields:
    """What one place in a definition says about calling; it need not be enough on its own."""

    mode: str = ""
    service: str = ""
    func: str = ""
    script: dict[str, Any] | None = None
    pod: PodSpec | None = None

    def over(self, base: "CallFields") -> "CallFields":
        """This call, with what it leaves open taken from `base`."""
        return CallFields(
            self.mode or base.mode,
            self.service or base.service,
            self.func or base.func,
            self.script or base.script,
            self.pod or base.pod,
        )


NO_CALL = CallFields()


def read_call(fields: Fields) -> CallFields:
    """What an object's fields say about calling."""
    mode = fields.one_of("exec_type", _TRANSPORTS)
    alias = fields.one_of("exec_mode", _TRANSPORTS)
    if mode and alias and mode != alias:
        reason = f'"{alias}" contradicts exec_type "{mode}"'
        fields.problems.add(fields.at("exec_mode"), reason, "they mean the same; keep one")
    service, func = fields.name("service"), fields.name("func")
    return CallFields(mode or alias, service, func, _read_script(fields), read_pod(fields))


def target_of(call: CallFields, where: str, problems: Problems) -> Target | None:
    """Where an attempt goes; None, with a problem noted, if the call is not complete."""
    transport = _TRANSPORTS[call.mode or "http"]
    match transport:
        case Transport.LOCAL:
            if call.func:
                return Target(transport, call.func)
            missing = "func", "no function to call", "name one, as in func: mul"
        case Transport.SCRIPT:
            script = call.script or {}
            if script.get("cmd") or script.get("code"):
                return Target(transport, "script", script)
            missing = "script", "no command to run", "give script.cmd, or script.code"
        case Transport.POD:
            if call.pod is not None:
                return pod_target(call.pod)
            missing = "pod", "no pod to run", "give pod.image, as in pod: {image: busybox:1.36}"
        case _:
            if call.service:
                return Target(transport, call.service)
            missing = "service", "no service to call", _service_hint(call)
    field, reason, hint = missing
    if not problems.noted(where) and not problems.noted(under(where, field)):
        problems.add(under(where, field), reason, hint)
    return None


def _service_hint(call: CallFields) -> str:
    if call.func:
        return "to call func, set exec_type: local_func"
    if call.script:
        return "to run script, set exec_type: local_script"
    if call.pod:
        return "to run pod, set exec_type: pod"
    return "name one, as in service: transform"


def _read_script(fields: Fields) -> dict[str, Any] | None:
    """A script under the names we give its fields, or None if there is none."""
    if not fields.has("script"):
        return None
    given = fields.within("script", _SCRIPT_FIELDS)
    script: dict[str, Any] = {name: given.text(name) for name in _SCRIPT_TEXTS if given.has(name)}
    given.one_of("stdin_mode", ("none", "json"))
    given.one_of("output_mode", ("text", "json"))
    if given.has("args"):
        script["args"] = given.texts("args")
    if given.has("env"):
        script["env"] = given.text_mapping("env")
    if given.has("timeout_ms"):
        script["timeout_ms"] = given.whole("timeout_ms")
    return script
