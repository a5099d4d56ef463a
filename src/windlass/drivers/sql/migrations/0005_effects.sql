-- What a commit promises to have done outside. The release before this one does not look here.

create table effects (
    id {id} primary key,
    kind text not null,
    address text not null,
    run_id {id} not null,
    body text not null,
    state text not null check (state in ('waiting', 'dead')),
    due_at bigint not null,
    tries bigint not null,
    holder text not null,
    lease_until bigint not null,
    error text not null,
    created_at bigint not null
);
create index effects_due on effects (address, due_at) where state = 'waiting';
create index bindings_by_worker on bindings (worker_id, run_id);
create index resources_by_expiry on resources (expires_at) where expires_at is not null;
