-- Limits by key: what tasks ask for and wait for, what attempts hold, what is in use, and rules.
alter table tasks add column limits text not null default '';
alter table tasks add column parked {id};
alter table attempts add column limits text not null default '';

-- Whoever waits for a key, in the order of its turn; what does not wait costs nothing here.
create index tasks_parked on tasks (parked, priority desc, ready_at, id) where parked is not null;

create table limits (
    id {id} primary key,
    tenant {id} not null,
    key {id} not null,
    max bigint,
    rate bigint not null,
    per_ms bigint not null,
    burst bigint not null,
    in_use bigint not null check (in_use >= 0),
    parked bigint not null check (parked >= 0),
    next_us bigint not null,
    recent text not null,
    paused_until bigint not null,
    wake_at bigint,
    used_at bigint not null
) {clustered};
create index limits_wake on limits (wake_at) where wake_at is not null;
create index limits_paused on limits (paused_until);

create table limit_rules (
    id {id} primary key,
    tenant {id} not null,
    pattern {id} not null,
    max bigint,
    rate bigint,
    per_ms bigint not null,
    burst bigint not null,
    changed_at bigint not null,
    changed_by text not null
) {clustered};

-- How much of what is free a tenant gets, beside the others that have something waiting.
alter table tenants add column weight bigint not null default 1;
