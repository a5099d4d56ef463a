-- The durable core. Times are unix milliseconds, payloads JSON text, ids sort bytewise.
-- Columns stand in the order of the row types in windlass.model.rows.

create table flows (
    id {id} primary key,
    name text not null,
    description text not null default '',
    created_at bigint not null
);
create index flows_by_name on flows (name);

create table versions (
    id {id} primary key,
    flow_id {id} not null,
    number bigint not null,
    dialect text not null,
    source text not null,
    status text not null,
    created_at bigint not null
);
create unique index versions_by_number on versions (flow_id, number);

create table runs (
    id {id} primary key,
    version_id {id} not null,
    flow_id {id} not null,
    flow_name text not null,
    state text not null check (state in
        ('queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled')),
    generation bigint not null,
    graph_rev bigint not null,
    seq bigint not null,
    params text not null,
    request_id text not null,
    tags text not null,
    priority bigint not null,
    made bigint not null,
    open bigint not null check (open >= 0),
    active bigint not null check (active >= 0),
    failures bigint not null,
    node text not null,
    action text not null,
    error text,
    created_at bigint not null,
    started_at bigint,
    updated_at bigint not null,
    finished_at bigint,
    -- A run has ended exactly when it says when.
    check ((finished_at is not null) = (state in ('succeeded', 'failed', 'cancelled')))
) {clustered};
create index runs_by_state on runs (state, id);
create index runs_by_flow on runs (flow_name, id);

create table tasks (
    id {id} primary key,
    run_id {id} not null,
    scope {id} not null,
    node text not null,
    kind text not null,
    state text not null check (state in ('pending', 'queued', 'running', 'verifying', 'waiting',
        'succeeded', 'failed', 'skipped', 'cancelled', 'superseded')),
    generation bigint not null,
    step bigint not null,
    idx bigint not null,
    queue text,
    priority bigint not null,
    ready_at bigint,
    attempts bigint not null,
    failures bigint not null,
    moves bigint not null,
    avoid text,
    edges_open bigint not null,
    edges_fired bigint not null,
    wait_key text,
    due_at bigint,
    total bigint not null,
    made bigint not null,
    released bigint not null,
    open bigint not null check (open >= 0),
    failed bigint not null,
    input text,
    output text,
    error text,
    action text not null,
    made_seq bigint not null,
    ended_seq bigint not null,
    created_at bigint not null,
    started_at bigint,
    finished_at bigint
) {clustered};
-- The ready queue: small, because a task leaves it when it is claimed.
create index tasks_queued on tasks (queue, priority desc, ready_at, id) where state = 'queued';
create index tasks_waiting on tasks (run_id, wait_key) where wait_key is not null;

create table attempts (
    id {id} primary key,
    task_id {id} not null,
    run_id {id} not null,
    number bigint not null,
    state text not null check (state in
        ('claimed', 'running', 'succeeded', 'failed', 'timed_out', 'lost', 'cancelled')),
    queue text not null,
    worker_id text not null,
    worker_url text not null,
    holder text not null,
    lease_until bigint not null,
    cancel_at bigint,
    output text,
    error text,
    log text,
    claimed_at bigint not null,
    started_at bigint,
    finished_at bigint
) {clustered};
create index attempts_live on attempts (lease_until) where state in ('claimed', 'running');

create table variables (
    scope {id} not null,
    key {id} not null,
    run_id {id} not null,
    value text not null,
    seq bigint not null,
    primary key (scope, key)
) {clustered};

create table timers (
    id {id} primary key,
    run_id {id} not null,
    task_id {id} not null,
    kind text not null,
    due_at bigint not null
) {clustered};
create index timers_due on timers (due_at);

create table checkpoints (
    id {id} primary key,
    run_id {id} not null,
    task_id {id} not null,
    flow_name text not null,
    node text not null,
    kind text not null,
    state text not null check (state in ('open', 'resolved', 'expired', 'cancelled')),
    prompt text not null,
    show text,
    answer text,
    note text not null,
    answered_by text not null,
    created_at bigint not null,
    expires_at bigint,
    answered_at bigint
) {clustered};
create index checkpoints_by_state on checkpoints (state, id);

-- History and outbox in one.
create table events (
    run_id {id} not null,
    seq bigint not null,
    type text not null,
    task_id {id},
    at bigint not null,
    data text not null,
    primary key (run_id, seq)
) {clustered};

create table idempotency (
    key {id} primary key,
    run_id {id} not null,
    request_hash text not null,
    created_at bigint not null
);

create table workers (
    id {id} primary key,
    url text not null,
    transport text not null,
    services text not null,
    load bigint not null,
    capacity bigint not null,
    state text not null,
    meta text not null,
    registered_at bigint not null,
    seen_at bigint not null
);

create table api_tokens (
    id {id} primary key,
    name text not null,
    hash text not null unique,
    role text not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint
);

-- Room for what stands on the same kernel next: judged results, and graphs that grow.
create table verifications (
    id {id} primary key,
    run_id {id} not null,
    task_id {id} not null,
    attempt_id {id} not null,
    profile text not null,
    state text not null,
    verdict text,
    reason text,
    lease_until bigint,
    created_at bigint not null,
    finished_at bigint
);
create table graph_patches (
    run_id {id} not null,
    rev bigint not null,
    patch text not null,
    created_at bigint not null,
    primary key (run_id, rev)
);

-- Facts about this database itself, such as the key that lease tokens are made with.
create table meta (
    key {id} primary key,
    value text not null
);
