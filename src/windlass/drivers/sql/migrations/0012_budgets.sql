-- Spend budgets and circuit breakers, kept with the limits by key that they are a kind of. Servers of the release before
-- this one hand out work of runs with budgets without counting it.
alter table limits add column budget bigint;
alter table limits add column raised bigint not null default 0;
alter table limits add column spent bigint not null default 0;
alter table limits add column reserved bigint not null default 0;
alter table limits add column largest bigint not null default 0;
alter table limits add column asked bigint not null default 0;
alter table limits add column trip_after bigint not null default 0;
alter table limits add column reset_ms bigint not null default 0;
alter table limits add column failures bigint not null default 0;
alter table limits add column tripped bigint not null default 0;

alter table limit_rules add column budget bigint;
alter table limit_rules add column trip_after bigint;
alter table limit_rules add column reset_ms bigint not null default 0;

-- What a run was given when it was started.
alter table runs add column budget text not null default '';
