"""Images that are only pretended, beside pretended places."""

from hashlib import sha256
from typing import Any

from windlass.ports.env import OnLog, PlaceError


class PretendedImages:
    """Implements `ImageBackend`: a line of a Dockerfile that begins with `RUN false` fails."""

    async def capabilities(self) -> dict[str, Any]:
        return {"dockerfile_build": True, "reason": ""}

    async def pull(self, ref: str) -> str:
        return f"sha256:{sha256(ref.encode()).hexdigest()}"

    async def build(self, dockerfile: str, tag: str, on_log: OnLog) -> str:
        for number, line in enumerate(dockerfile.splitlines(), 1):
            await on_log(f"step {number}: {line}")
            if line.startswith("RUN false"):
                raise PlaceError(f"step {number} failed with 1: {line}")
        return f"sha256:{sha256(dockerfile.encode()).hexdigest()}"
