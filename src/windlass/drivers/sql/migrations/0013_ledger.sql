-- What attempts do outside, written before and after; and who allowed what cannot be undone.
create table actions (
    id {id} primary key,
    run_id {id} not null,
    task_id {id} not null,
    attempt_id {id} not null,
    call_id text not null,
    tool text not null,
    effect text not null,
    state text not null check (state in ('running', 'completed', 'failed')),
    summary text not null,
    input text not null,
    output text,
    error text not null,
    approval_id {id} not null,
    seq bigint not null,
    started_at bigint not null,
    finished_at bigint
) {clustered};
create index actions_of_run on actions (run_id, seq);
create table approvals (
    id {id} primary key,
    run_id {id} not null,
    task_id {id} not null,
    attempt_id {id} not null,
    effect text not null,
    token_hash text not null,
    state text not null check (state in ('active', 'consumed', 'revoked')),
    reason text not null,
    approved_by text not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_by {id} not null,
    used_at bigint,
    handed bigint not null
) {clustered};
create index approvals_of_run on approvals (run_id, id);
