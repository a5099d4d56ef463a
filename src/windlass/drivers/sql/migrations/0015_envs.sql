-- Places that tasks are done in, leased to one task at a time.
create table env_resources (
    id {id} primary key,
    tenant text not null,
    name text not null,
    kind text not null,
    capacity bigint not null,
    config text not null,
    metadata text not null,
    status text not null check (status in ('active', 'disabled', 'archived')),
    created_at bigint not null,
    created_by text not null,
    changed_at bigint not null
) {clustered};
create unique index env_resources_by_name on env_resources (tenant, name);
create table env_sessions (
    id {id} primary key,
    run_id {id} not null,
    task_id {id} not null,
    tenant text not null,
    resource_id {id} not null,
    resource text not null,
    kind text not null,
    state text not null
        check (state in ('reserved', 'committed', 'held', 'kept', 'releasing', 'released')),
    epoch bigint not null,
    attempt_id {id} not null,
    host text not null,
    details text not null,
    limits text not null,
    reason text not null,
    expires_at bigint,
    created_at bigint not null,
    committed_at bigint,
    released_at bigint
) {clustered};
create index env_sessions_of_run on env_sessions (run_id, id);
create index env_sessions_of_resource on env_sessions (resource_id, id);
create index env_sessions_alive on env_sessions (state, id) where state <> 'released';
create table env_snapshots (
    id {id} primary key,
    session_id {id} not null,
    run_id {id} not null,
    attempt_id {id} not null,
    kind text not null,
    ref text not null,
    digest text not null,
    size_bytes bigint not null,
    created_at bigint not null
) {clustered};
create index env_snapshots_of_session on env_snapshots (session_id, created_at);
create index env_snapshots_of_run on env_snapshots (run_id, id);
create table env_images (
    id {id} primary key,
    tenant text not null,
    name text not null,
    source text not null check (source in ('registry', 'dockerfile')),
    ref text not null,
    dockerfile text not null,
    metadata text not null,
    status text not null
        check (status in ('pending', 'building', 'ready', 'failed', 'archived')),
    digest text not null,
    host text not null,
    log text not null,
    error text not null,
    created_at bigint not null,
    created_by text not null,
    changed_at bigint not null
) {clustered};
create unique index env_images_by_name on env_images (tenant, name);
-- The session a task has, or waits for.
alter table tasks add column env text not null default '';
