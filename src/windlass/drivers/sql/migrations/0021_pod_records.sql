-- What was seen of a pod beside the events of its run: what it waited for, and Kubernetes' own events. Kept, so that every
-- server tells the same.
create table pod_records (
    attempt_id {id} not null,
    kind text not null,
    run_id {id} not null,
    text text not null,
    at bigint not null,
    primary key (attempt_id, kind)
) {clustered};
create index pod_records_of_run on pod_records (run_id);
