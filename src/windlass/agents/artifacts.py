"""Artifacts an agent adds to its answer: small ones inside it, others by their address."""

from base64 import b64encode
from hashlib import sha256
from typing import Any

from windlass.agents.attempt import AgentAttempt
from windlass.agents.effects import AgentTool
from windlass.model.ledger import EffectClass

INLINE_BYTES_MAX = 32 * 1024
ARTIFACTS_MAX = 100


def artifact_tool(attempt: AgentAttempt) -> AgentTool:
    """`add_artifact` for one attempt."""

    def add_artifact(
        kind: str,
        content: str = "",
        uri: str = "",
        digest: str = "",
        version: str = "1",
        content_type: str = "text/plain",
        summary: str = "",
    ) -> str:
        """Keep something you made with your answer: a short text as `content`, or anything else by
        its `uri` and the `digest` of its bytes."""
        flaw = _flaw(attempt, kind, content, uri, digest)
        if flaw:
            raise ValueError(flaw)
        made: dict[str, Any] = {"kind": kind, "version": version, "content_type": content_type}
        if content:
            data = content.encode()
            made["uri"] = f"data:{content_type};base64,{b64encode(data).decode()}"
            made["digest"] = f"sha256:{sha256(data).hexdigest()}"
        else:
            made["uri"], made["digest"] = uri, digest
        if summary:
            made["summary"] = summary
        attempt.artifacts.append(made)
        return f"kept as artifact {len(attempt.artifacts)}"

    return AgentTool("add_artifact", add_artifact, EffectClass.LOCAL_MUTATION)


def _flaw(attempt: AgentAttempt, kind: str, content: str, uri: str, digest: str) -> str:
    if len(attempt.artifacts) >= ARTIFACTS_MAX:
        return f"an answer has at most {ARTIFACTS_MAX} artifacts"
    if not kind:
        return "an artifact needs a kind, as in report or patch"
    if bool(content) == bool(uri):
        return "an artifact has either content or a uri"
    if uri and not digest:
        return "an artifact with a uri needs the digest of its bytes, as in sha256:…"
    if len(content.encode()) > INLINE_BYTES_MAX:
        return f"content of more than {INLINE_BYTES_MAX:,} bytes; store it and give its uri"
    return ""
