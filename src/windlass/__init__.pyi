from windlass.authoring import Flow as Flow
from windlass.client import AsyncClient as AsyncClient
from windlass.client import Client as Client
from windlass.client import RunCancelled as RunCancelled
from windlass.client import RunFailed as RunFailed
from windlass.worker import Cancelled as Cancelled
from windlass.worker import Context as Context
from windlass.worker import PermanentError as PermanentError
from windlass.worker import TemporaryError as TemporaryError
from windlass.worker import Worker as Worker

__version__: str
