-- Saved views of lists, and acts on many runs as jobs with an item for each.
create table saved_views (
    id {id} primary key,
    tenant {id} not null,
    owner {id} not null,
    page text not null,
    name text not null,
    query text not null,
    columns text not null,
    sort text not null,
    shared bigint not null,
    created_at bigint not null,
    updated_at bigint not null
) {clustered};
create unique index saved_views_name on saved_views (tenant, owner, page, name);

create table bulk_jobs (
    id {id} primary key,
    tenant {id} not null,
    actor text not null,
    act text not null,
    query text not null,
    body text not null,
    state text not null,
    total bigint not null,
    created_at bigint not null,
    finished_at bigint
) {clustered};
create index bulk_jobs_of_tenant on bulk_jobs (tenant, id);
create index bulk_jobs_finished on bulk_jobs (finished_at) where finished_at is not null;

create table bulk_items (
    id {id} primary key,
    tenant {id} not null,
    job_id {id} not null,
    target {id} not null,
    mark {id} not null,
    state text not null,
    detail text not null
) {clustered};
create index bulk_items_of_job on bulk_items (job_id, state, id);
