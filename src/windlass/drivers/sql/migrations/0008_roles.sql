-- What an attempt is for, what it is called outside, and the claim of a task that is being verified.
-- Releases before this one make only attempts that work, and see nothing that waits for a verdict.

alter table attempts add column role text not null default 'work';
alter table attempts add column external_ref text not null default '';
alter table tasks add column claim bigint not null default 0;
alter table checkpoints add column details text;
alter table runs add column dialect text not null default 'flow';
update runs set dialect = coalesce((select v.dialect from versions v where v.id = runs.version_id), 'flow');

-- Whatever somebody may claim stands in one index: work that is ready, and results to be judged.
create index tasks_claimable on tasks (queue, priority desc, ready_at, id)
    where state in ('queued', 'verifying');
drop index tasks_queued;
