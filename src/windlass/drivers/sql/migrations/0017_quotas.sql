-- Quotas: which project a run is of, what it holds while it goes on, and runs that wait to begin.
alter table runs add column project text not null default '';
alter table runs add column quota text not null default '';
create index runs_of_project on runs (project, id) where project <> '';

create table run_queue (
    id {id} primary key,
    tenant {id} not null,
    limits text not null,
    parked {id} not null,
    turn {id} not null
) {clustered};
create index run_queue_turn on run_queue (parked, turn);

create index resources_of_tenant on resources (tenant, state, size_bytes);
