-- Whose everything is. What was there before belongs to the tenant `default`; whoever administered
-- everything goes on doing so.

create table tenants (
    id {id} primary key,
    description text not null default '',
    created_at bigint not null
);
insert into tenants (id, created_at) values ('default', 0);

alter table flows add column tenant {id} not null default 'default';
alter table runs add column tenant {id} not null default 'default';
alter table checkpoints add column tenant {id} not null default 'default';
alter table workers add column tenant {id} not null default 'default';
alter table api_tokens add column tenant {id} not null default 'default';
alter table users add column tenant {id} not null default 'default';
alter table packages add column tenant {id} not null default 'default';
alter table package_versions add column tenant {id} not null default 'default';
alter table resources add column tenant {id} not null default 'default';
alter table audit add column tenant {id} not null default 'default';

update api_tokens set tenant = '*' where role = 'admin';
update users set tenant = '*' where roles like '%"admin"%';

-- Lists are one tenant's, so their indexes begin with it.
create index runs_by_tenant on runs (tenant, state, id);
drop index runs_by_state;
create index checkpoints_by_tenant on checkpoints (tenant, state, id);
drop index checkpoints_by_state;
create index flows_by_tenant on flows (tenant, id);
