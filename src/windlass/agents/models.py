"""Models by name. What is wrong with one is said before the worker registers for anything."""

import re

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from windlass.agents.settings import AgentSettings
from windlass.model.errors import BadRequest

_OWN_ADDRESS = ("openai", "openai-chat")
_VARIABLE = re.compile(r"[Ss]et the `([A-Z][A-Z0-9_]+)`")


def model_of(settings: AgentSettings, profile: str) -> Model:
    """The model that serves a profile."""
    name = settings.model(profile)
    if not name:
        hint = f"give --model PROVIDER:NAME, or --model {profile}=PROVIDER:NAME"
        raise BadRequest(f'no model for profile "{profile}"; {hint}')
    provider, colon, model_name = name.partition(":")
    if not colon or not provider or not model_name:
        raise BadRequest(f"--model {name}: not PROVIDER:NAME; write openai:{name}, say")
    if settings.base_url:
        if provider not in _OWN_ADDRESS:
            hint = f"write openai:{model_name} for any server that speaks OpenAI's chat completions"
            raise BadRequest(f"--model {name} does not go with --base-url; {hint}")
        return OpenAIChatModel(model_name, provider=OpenAIProvider(base_url=settings.base_url))
    try:
        return infer_model(name)
    except ImportError as error:
        raise BadRequest(f"--model {name}: {error}") from error
    except (UserError, ValueError) as error:
        raise BadRequest(f"--model {name}: {_in_short(str(error), provider)}") from error


def _in_short(text: str, provider: str) -> str:
    """Which variable to set, where that is all; else what the library says."""
    missing = _VARIABLE.search(text)
    if missing is None:
        return text
    hint = " or name a server that needs none: --base-url" if provider in _OWN_ADDRESS else ""
    return f"there is no key for {provider}; set {missing.group(1)}{hint and ',' + hint}"
