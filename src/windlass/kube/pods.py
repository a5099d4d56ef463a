"""The parts of a pod that we read; everything else is skipped while it is decoded."""

from datetime import datetime

import msgspec

from windlass.protocol.pod_facts import TASK_ID


class _Part(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    pass


class Annotations(msgspec.Struct, frozen=True, omit_defaults=True):
    """Those of ours: what is too long for a label."""

    task_id: str = msgspec.field(default="", name=TASK_ID)


class OwnedMeta(_Part, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: Annotations = Annotations()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None


class Waiting(_Part, frozen=True):
    reason: str = ""
    message: str = ""


class Running(_Part, frozen=True):
    started_at: datetime | None = None


class Terminated(_Part, frozen=True):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class ContainerState(_Part, frozen=True):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class Container(_Part, frozen=True):
    """A container's status, by its name."""

    name: str = ""
    state: ContainerState = ContainerState()
    restart_count: int = 0


class Condition(_Part, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class PodState(_Part, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    conditions: list[Condition] = []
    init_container_statuses: list[Container] = []
    container_statuses: list[Container] = []


class PodSpec(_Part, frozen=True):
    node_name: str = ""


class Pod(_Part, frozen=True):
    metadata: OwnedMeta = OwnedMeta()
    spec: PodSpec = PodSpec()
    status: PodState = PodState()

    def condition(self, kind: str) -> Condition | None:
        return next((found for found in self.status.conditions if found.type == kind), None)

    def container(self, name: str) -> Container | None:
        return next((found for found in self.status.container_statuses if found.name == name), None)


class ListMeta(_Part, frozen=True):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class PodList(_Part, frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] = []
