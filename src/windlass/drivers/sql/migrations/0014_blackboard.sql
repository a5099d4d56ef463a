-- What runs and their tasks let each other know: each key as it stands, and as it stood before.
create table blackboard (
    key {id} primary key,
    run_id {id} not null,
    revision bigint not null,
    writer text not null check (writer in ('orchestrator', 'worker', 'verifier')),
    writer_id {id} not null,
    attempt_id {id} not null,
    epoch bigint not null,
    deleted bigint not null,
    payload text not null,
    at bigint not null
) {clustered};
create index blackboard_of_run on blackboard (run_id, key);
create table blackboard_past (
    key {id} not null,
    run_id {id} not null,
    revision bigint not null,
    writer text not null check (writer in ('orchestrator', 'worker', 'verifier')),
    writer_id {id} not null,
    attempt_id {id} not null,
    epoch bigint not null,
    deleted bigint not null,
    payload text not null,
    at bigint not null,
    primary key (key, revision)
) {clustered};
create index blackboard_past_of_run on blackboard_past (run_id, revision);
