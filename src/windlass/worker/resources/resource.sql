-- name: create
-- What a worker remembers of its resources; one row each, replaced as a whole.
create table if not exists resource (
    resource_id text primary key,
    type        text not null,
    backend     text not null check (backend in ('file', 'object', 'none')),
    scope       text not null,
    state       text not null check (state in ('active', 'evicting', 'evicted')),
    path        text,
    metadata    text not null,
    size_bytes  integer,
    created_at  real not null,
    used_at     real not null,
    expires_at  real,
    ttl_s       real
) strict;

-- name: save
-- Note a resource as it is now.
insert or replace into resource
       (resource_id, type, backend, scope, state, path, metadata, size_bytes, created_at, used_at,
        expires_at, ttl_s)
values (:resource_id, :type, :backend, :scope, :state, :path, :metadata, :size_bytes, :created_at,
        :used_at, :expires_at, :ttl_s);

-- name: load
-- Everything that was known when the worker ended.
select resource_id, type, backend, scope, state, path, metadata, size_bytes, created_at, used_at,
       expires_at, ttl_s
  from resource order by created_at;

-- name: forget
-- Drop what was evicted long enough ago that nobody will ask for it.
delete from resource where state = 'evicted' and used_at < :before;
