"""`pod` of a node, a profile or a runtime: what runs in it, what it needs, and what it is given.

Everything Kubernetes would refuse for its form is refused here, when a version is published: a pod
that cannot be made would fail every run of it.
"""

import re
from typing import Any

from windlass.dialects.fields import Fields
from windlass.dialects.plain import under
from windlass.model.pods import PodSpec, SecretRef

POD_FIELDS = frozenset(
    {"image", "command", "args", "env", "secrets", "resources", "namespace", "node_selector"}
    | {"tolerations", "service_account", "active_deadline_s", "grace_s", "sdk"}
    | {"oom_memory_factor", "oom_retries", "eviction_wait_s"}
    | {"capacity_retries", "capacity_wait_s"}
)
_RESOURCES = frozenset({"cpu", "memory", "gpu"})
_TOLERATION = frozenset({"key", "operator", "value", "effect", "tolerationseconds"})
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESERVED = ("FLOWFORGE_", "WINDLASS_")

_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{{1,5}})?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?"
)
_IMAGE_CHARS_MAX = 500
_CPU = re.compile(r"(?:[0-9]{1,9}m|[0-9]{1,6}(?:\.[0-9]{1,3})?)")
_MEMORY = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,3})?(?:k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")
_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_ENV = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]{0,252}")
_SECRET_KEY = re.compile(r"[A-Za-z0-9_.-]{1,253}")
_LABEL_KEY = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_DAY_S = 86_400.0


def read_pod(fields: Fields) -> PodSpec | None:
    """What is said of pods; None if nothing is."""
    if not fields.has("pod"):
        return None
    pod = fields.within("pod", POD_FIELDS)
    resources = pod.within("resources", _RESOURCES)
    return PodSpec(
        image=_matching(pod, "image", _IMAGE, "busybox:1.36", _IMAGE_CHARS_MAX, required=True),
        command=tuple(pod.texts("command")),
        args=tuple(pod.texts("args")),
        env=_env(pod),
        secrets=_secrets(pod),
        cpu=_quantity(resources, "cpu", _CPU, "500m, 2 or 0.5"),
        memory=_quantity(resources, "memory", _MEMORY, "512Mi or 2Gi"),
        gpu=resources.whole("gpu"),
        namespace=_matching(pod, "namespace", _DNS_LABEL, "team-a"),
        node_selector=_node_selector(pod),
        tolerations=_tolerations(pod),
        service_account=_matching(pod, "service_account", _DNS_NAME, "worker"),
        active_deadline_s=pod.whole("active_deadline_s", low=1)
        if pod.has("active_deadline_s")
        else 0,
        grace_s=int(pod.number("grace_s", 30, low=0, high=3_600)),
        sdk=pod.flag("sdk"),
        oom_memory_factor=_memory_factor(pod, resources),
        oom_retries=int(pod.number("oom_retries", 3, low=0, high=20)),
        eviction_wait_s=pod.number("eviction_wait_s", 10.0, low=0.0, high=_DAY_S),
        capacity_retries=int(pod.number("capacity_retries", 5, low=0, high=30)),
        capacity_wait_s=pod.number("capacity_wait_s", 30.0, low=0.0, high=_DAY_S),
    )


def _matching(
    fields: Fields,
    name: str,
    pattern: re.Pattern[str],
    example: str,
    chars_max: int = 253,
    *,
    required: bool = False,
) -> str:
    text = fields.text(name)
    if not text:
        if required and not fields.problems.noted(fields.at(name)):
            fields.problems.add(fields.at(name), f"no {name} is named", f"as in {example}")
        return text
    if len(text) > chars_max or not pattern.fullmatch(text):
        reason = f'"{text:.60}" is no {name.replace("_", " ")}'
        fields.problems.add(fields.at(name), reason, f"write it as in {example}")
    return text


def _quantity(fields: Fields, name: str, pattern: re.Pattern[str], example: str) -> str:
    """An amount as Kubernetes writes it; a plain number is one too."""
    given = fields.raw(name)
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = f"{given:g}" if isinstance(given, float) else str(given)
    if given is None:
        return ""
    if not isinstance(given, str):
        fields.problems.wrong_type(fields.at(name), given, f"an amount, as in {example}")
        return ""
    if not pattern.fullmatch(given) or not any(digit in given for digit in "123456789"):
        reason = f'"{given:.40}" is no amount of {name}'
        fields.problems.add(fields.at(name), reason, f"write it as in {example}")
    return given


def _env(pod: Fields) -> dict[str, str]:
    env = pod.text_mapping("env")
    for name in env:
        _check_env(pod, "env", name)
    return env


def _check_env(pod: Fields, field: str, name: str) -> None:
    where = under(pod.at(field), name)
    if not _ENV.fullmatch(name):
        reason = f'"{name:.60}" is no name of a variable'
        pod.problems.add(where, reason, "letters, digits and _, and no digit first")
    elif name.startswith(_RESERVED):
        pod.problems.add(where, "variables that begin so are ours to set", "choose another name")


def _secrets(pod: Fields) -> dict[str, SecretRef]:
    secrets: dict[str, SecretRef] = {}
    plain = pod.mapping("env")
    for name, text in pod.text_mapping("secrets").items():
        _check_env(pod, "secrets", name)
        where = under(pod.at("secrets"), name)
        secret, _, key = text.partition("/")
        if not _DNS_NAME.fullmatch(secret) or not _SECRET_KEY.fullmatch(key):
            hint = "name a Secret and its key, as in db-credentials/password"
            pod.problems.add(where, f'"{text:.60}" names no key of a Secret', hint)
        elif name in plain:
            pod.problems.add(where, "env sets the same variable", "keep one of them")
        secrets[name] = SecretRef(secret, key)
    return secrets


def _node_selector(pod: Fields) -> dict[str, str]:
    selector = pod.text_mapping("node_selector")
    for key, value in selector.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            where = under(pod.at("node_selector"), key)
            pod.problems.add(where, f'"{key:.60}: {value:.60}" is no label of a node')
    return selector


def _tolerations(pod: Fields) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    for index, item in enumerate(pod.items("tolerations")):
        given = Fields(item, under(pod.at("tolerations"), index), _TOLERATION, pod.problems)
        toleration: dict[str, Any] = {
            "key": given.text("key"),
            "operator": given.one_of("operator", ("Exists", "Equal")),
            "value": given.text("value"),
            "effect": given.one_of("effect", _EFFECTS),
        }
        toleration = {name: value for name, value in toleration.items() if value}
        if given.has("tolerationseconds"):
            toleration["tolerationSeconds"] = given.whole("tolerationseconds")
        found.append(toleration)
    return tuple(found)


def _memory_factor(pod: Fields, resources: Fields) -> float:
    if not pod.has("oom_memory_factor"):
        return 0.0
    if not resources.has("memory"):
        hint = "give resources.memory, of which it is a multiple"
        pod.problems.add(pod.at("oom_memory_factor"), "there is no memory to have more of", hint)
    return pod.number("oom_memory_factor", 0.0, low=1.1, high=10.0)
