-- Workers on a live link: bindings, packages, artifacts; and the people who run them. Pre-deploy: the
-- release before this one runs on it.

alter table versions add column locked text;

alter table api_tokens add column workers text not null default '';

create table bindings (
    run_id {id} not null,
    package {id} not null,
    worker_id text not null,
    bound_at bigint not null,
    primary key (run_id, package)
) {clustered};

create table affinities (
    key {id} primary key,
    worker_id text not null,
    held_at bigint not null,
    expires_at bigint not null
);

create table packages (
    name {id} primary key,
    description text not null,
    owner text not null,
    visibility text not null,
    tags text not null,
    created_at bigint not null,
    updated_at bigint not null
);

create table package_versions (
    id {id} primary key,
    name {id} not null,
    version text not null,
    status text not null check (status in ('active', 'deprecated', 'yanked')),
    sha256 text not null,
    size_bytes bigint not null,
    manifest text not null,
    signer text not null,
    owner text not null,
    created_at bigint not null
);
create index package_versions_by_name on package_versions (name, id);

create table manifests (
    package {id} primary key,
    manifest text not null,
    reported_at bigint not null
);

create table artifacts (
    attempt_id {id} not null,
    resource_id {id} not null,
    run_id {id} not null,
    worker_id text not null,
    type text not null,
    size_bytes bigint,
    inline bigint not null,
    expires_at text not null,
    metadata text not null,
    created_at bigint not null,
    primary key (attempt_id, resource_id)
) {clustered};
create index artifacts_by_run on artifacts (run_id);

create table log_chunks (
    attempt_id {id} not null,
    number bigint not null,
    run_id {id} not null,
    channel text not null,
    text text not null,
    at bigint not null,
    primary key (attempt_id, number)
) {clustered};

create table resources (
    id {id} primary key,
    filename text not null,
    type text not null,
    mime_type text not null,
    state text not null check (state in ('pending', 'complete', 'aborted')),
    size_bytes bigint not null,
    sha256 text not null,
    chunk_bytes bigint not null,
    parts text not null,
    owner text not null,
    visibility text not null,
    metadata text not null,
    created_at bigint not null,
    expires_at bigint
);

create table users (
    id {id} primary key,
    username {id} not null unique,
    display_name text not null,
    password_hash text not null,
    roles text not null,
    active bigint not null,
    created_at bigint not null,
    updated_at bigint not null
);

create table audit (
    id {id} primary key,
    at bigint not null,
    actor text not null,
    action text not null,
    target_type text not null,
    target_id text not null,
    detail text not null
);
create index audit_by_action on audit (action, id);
