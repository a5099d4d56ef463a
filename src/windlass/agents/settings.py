"""What `windlass worker agents` is told, by profile where that makes sense."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windlass.agents.effects import AgentTool
from windlass.model.errors import BadRequest
from windlass.model.plans import PLANNER, WORKER
from windlass.model.verification import LLM

PROFILES = (PLANNER, WORKER, LLM)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One for all profiles; `models` and `prices` by profile, "" for those that are not named."""

    models: Mapping[str, str]
    profiles: tuple[str, ...] = PROFILES
    base_url: str = ""
    prices: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of a million tokens."""
    tools: tuple[AgentTool, ...] = ()
    steps_max: int = 40
    """How often one attempt may ask its model."""
    timeout_s: float = 120.0
    """What one answer of the model may take."""

    def model(self, profile: str) -> str:
        return self.models.get(profile) or self.models.get("", "")

    def price(self, profile: str) -> float:
        return self.prices.get(profile, self.prices.get("", 0.0))


def by_profile(option: str, given: Iterable[str]) -> dict[str, str]:
    """`VALUE` for all and `PROFILE=VALUE` for one."""
    found: dict[str, str] = {}
    for word in given:
        left, equals, right = word.partition("=")
        profile, value = (left.strip(), right) if equals and ":" not in left else ("", word)
        if not value.strip():
            raise BadRequest(f'{option} {word}: nothing after "="')
        if profile in found:
            whom = f'profile "{profile}"' if profile else "all profiles"
            raise BadRequest(f"{option} is given twice for {whom}")
        found[profile] = value.strip()
    return found


def prices(given: Iterable[str]) -> dict[str, float]:
    """`--price-per-mtoken`, by profile."""
    found: dict[str, float] = {}
    for profile, word in by_profile("--price-per-mtoken", given).items():
        try:
            found[profile] = float(word)
        except ValueError:
            found[profile] = -1.0
        if not 0 <= found[profile] < 1e9:
            raise BadRequest(f"--price-per-mtoken {word}: not a price; as in 2.50")
    return found
