"""What the operator decides about a server, whatever way it was said."""

import msgspec


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 8070
    db: str = "sqlite:///windlass.db"
    roles: frozenset[str] = frozenset({"api", "control"})
    """`api` answers requests, `control` runs the loops."""
    admin_token: str = ""
    """A token that may do everything, for scripted set-ups."""
    no_auth: bool = False
    session_s: float = 900.0
    """How long a user who signed in is not asked again."""
    login_tries: int = 10
    """How often a minute somebody may sign in in vain as one user from one address; ten times that
    from all addresses, or as all users."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose word on who calls is taken; none: nobody's."""
    connections_max: int = 4_096
    """HTTP connections at once; one more takes the place of the oldest that asked for nothing."""
    head_s: float = 10.0
    """How long a caller may take to send the head of a request."""
    lease_s: float = 30.0
    allow_scripts: bool = False
    push_allow: tuple[str, ...] = ()
    """Networks and host patterns that push workers may be called at."""
    push_token: str = ""
    """What the server shows push workers, so that they know it is the server that calls."""
    link_tenant: str = "default"
    """What workers on the link must call their tenant; whose they are, their token says."""
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    """Whose client certificates are taken, for workers that prove themselves by one."""
    data_dir: str = ""
    """The folder for package archives and uploads, or for copies of them; empty: beside the
    database."""
    blobs: str = ""
    """Where those are kept: `files`, or `database` (PostgreSQL, unless told otherwise)."""
    trust_keys: tuple[str, ...] = ()
    """Public keys whose packages are trusted."""
    require_signature: bool = False
    """Publish only packages that a trusted key signed."""
    strict_workflows: bool = False
    """Publish only workflows without warnings."""
    cors_origins: tuple[str, ...] = ()
    """Whose pages may call the PocketFlow surface; `*` is everybody's."""
    no_worker_s: float = 30.0
    """After how long without a worker a call of a flow of PocketFlow's surface fails."""
    retry_budget_per_minute: int = 0
    """Retries of a tenant that may begin in a minute; 0 is no bound."""
    retry_budget_concurrent: int = 0
    """Retries of a tenant that may be out at once; 0 is no bound."""
    image_trip_after: int = 5
    """Pods in a row whose image cannot be had that open its breaker; 0 is no breaker."""
    image_reset_s: float = 60.0
    """For how long it stays open before one pod is tried."""
    tool_effects: str = ""
    """Effect classes of tools, as `deploy=external_irreversible,ping=external_read`."""
    kube_url: str = ""
    """Where the Kubernetes API is that pods are made with, without credentials or by a proxy."""
    kubeconfig: str = ""
    """A file whose current context says that instead."""
    kube_in_cluster: bool = False
    """The cluster this server runs in."""
    kube_pods: int = 100
    """How many pods may be out at once."""
    kube_refused_tries: int = 12
    """How often a pod that is forbidden is tried before its task fails."""
    kube_token_in_env: bool = False
    """Put attempts' tokens into pods' variables, where no Secrets may be made."""
    kube_namespace: tuple[str, ...] = ()
    """`TENANT=NAMESPACE`: where pods of a tenant may be, the first being its own."""
    kube_sync_s: float = 5.0
    """How often pods are compared with the attempts they are."""
    kube_unschedulable_s: float = 300.0
    """After how long a pod that no node takes has failed."""
    kube_creating_s: float = 120.0
    """After how long a pod whose containers are not made has failed."""
    kube_server_url: str = ""
    """What pods are told this server's address is."""
    advertise: str = ""
    """Where machines with runtimes reach this very process; empty: where it listens."""
    env_docker: str = ""
    """Where Docker's API is, of Docker or podman: `unix:///…` or `tcp://…`; empty for nowhere."""
    env_browser: str = ""
    """The Chromium to make browser sessions with; empty for none."""
    env_noop: bool = False
    """Pretend environments, to try without a runtime."""
    env_lease_s: float = 1800.0
    """How long a place that was made for a task waits for somebody to claim the task."""
    bus: str = ""
    """Where events of runs are published: `nats://…` or `redis://…`; empty for nowhere."""
    bus_prefix: str = "windlass"
    """What subjects begin with."""
    board: str = ""
    """Where the blackboard is copied to: `nats://…` or `redis://…`; empty for nowhere."""
    redis: str = ""
    """Where collectors put what they saw of pods: addresses of Redis, between commas."""
    facts: str = ""
    """Where workers state what became of their attempts: addresses of NATS, between commas."""
    worker_kept_days: float = 30.0
    """How long workers that nobody has heard of, and what they said of packages, are remembered."""
    url_tokens: bool = False
    """Take a token in the address of the PocketFlow surface, from clients that can set no other."""
    example: bool = True
    """`dev` publishes an example flow and runs it."""
    quiet: bool = False
