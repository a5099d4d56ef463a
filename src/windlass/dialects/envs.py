"""`env` of a node: the resource whose place its tasks are done in."""

from typing import Any, NamedTuple

from windlass.dialects.fields import Fields
from windlass.dialects.plain import is_object
from windlass.model.envs import KINDS, NAME_CHARS_MAX

ENV_FIELDS = frozenset({"resource", "kind", "keep_failed_s"})
_KEEP_S_MAX = 7 * 86_400.0


class Env(NamedTuple):
    """What a node says of its environment, as the graph keeps it."""

    resource: str = ""
    kind: str = ""
    keep_ms: int = 0

    def columns(self) -> dict[str, Any]:
        return {"env": self.resource, "env_kind": self.kind, "env_keep_ms": self.keep_ms}


NO_ENV = Env()


def read_env(fields: Fields) -> Env:
    """A resource's name, or an object that says more."""
    if not fields.has("env"):
        return NO_ENV
    if not is_object(fields.raw("env")):
        return _checked(fields, "env", Env(fields.text("env")))
    inner = Fields(fields.raw("env"), fields.at("env"), ENV_FIELDS, fields.problems)
    kind = inner.one_of("kind", KINDS)
    keep_s = inner.number("keep_failed_s", 0.0, low=0.0, high=_KEEP_S_MAX)
    return _checked(inner, "resource", Env(inner.text("resource"), kind, int(keep_s * 1000)))


def _checked(fields: Fields, name: str, env: Env) -> Env:
    if not env.resource or len(env.resource) > NAME_CHARS_MAX:
        hint = "name a resource; `windlass env ls` lists them"
        fields.problems.add(fields.at(name), "no environment is named", hint)
    return env
