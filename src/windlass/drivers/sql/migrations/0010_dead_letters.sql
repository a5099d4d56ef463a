-- What is given up for good: written when a task or an effect dies, removed when it is taken up again.
-- The release before this one gives tasks up without a letter.
create table dead_letters (
    id {id} primary key,
    tenant {id} not null,
    kind text not null check (kind in ('task', 'effect')),
    run_id {id} not null,
    flow_name text not null,
    name text not null,
    failure_class text not null,
    message text not null,
    tries bigint not null,
    died_at bigint not null
) {clustered};
create index dead_letters_listed on dead_letters (tenant, id);
create index dead_letters_counted on dead_letters (tenant, kind);
create index dead_letters_of_run on dead_letters (run_id);
