"""The agents of a worker process, as services by the names of their profiles."""

from windlass.agents.agent import ProfileAgent
from windlass.agents.board import BoardTools
from windlass.agents.envs import EnvTools
from windlass.agents.models import model_of
from windlass.agents.settings import AgentSettings
from windlass.model.errors import BadRequest
from windlass.worker.registry import Worker

_SOURCES = (BoardTools(), EnvTools())


def agents_worker(settings: AgentSettings) -> Worker:
    """A worker that serves every profile; `BadRequest` if one has no model it could use."""
    if not settings.profiles:
        raise BadRequest("--profiles names none; leave it out to serve all")
    for named in (*settings.models, *settings.prices):
        if named and named not in settings.profiles:
            served = ", ".join(settings.profiles)
            raise BadRequest(f'"{named}" is no profile that is served here; there is {served}')
    worker = Worker()
    for profile in settings.profiles:
        agent = ProfileAgent(profile, model_of(settings, profile), settings, _SOURCES)
        worker.add(profile, agent.serve)
    return worker
