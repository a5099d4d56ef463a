-- name: open_tasks
-- Tasks below some scopes, at any depth, that have not ended. Ids sort by place, so everything
-- below a scope is one range of the primary key; `~` is the separator, and the highest safe byte.
select {columns} from tasks
 where id > :low and id < :high
   and state in ('pending', 'queued', 'running', 'verifying', 'waiting');

-- name: run_tasks
-- All tasks of a run, in the order they were made.
select {columns} from tasks where id > :low and id < :high order by made_seq, id;

-- name: waiting_tasks
-- Tasks that wait for a shared key.
select {columns} from tasks where run_id = :run_id and wait_key = :key;

-- name: ended_branches
-- The branches of a fan-out and how those that have ended did. Read once, at the join.
select idx, state, output, error from tasks
 where id > :low and id < :high and scope = :container order by idx;

-- name: scope_variables
-- All shared keys of some scopes.
select {columns} from variables where scope = any(:scopes) order by scope, key;

-- name: signals
-- The signals a run has had.
select {columns} from events
 where run_id = :run_id and type = 'signal.received' order by seq;

-- name: queued
-- The oldest ready tasks of one queue.
select {columns} from tasks
 where queue = :queue and state in ('queued', 'verifying')
 order by priority desc, ready_at, id limit :count_max {skip_locked};

-- name: parked
-- Tasks that wait for a limit, in the order of their turn.
select {columns} from tasks where parked = :limit
 order by priority desc, ready_at, id limit :count_max;

-- name: parked_each
-- The same for several limits at once, each with a number of its own.
select {columns}
  from unnest(:limits::text[], :counts::bigint[]) as wanted(limit_id, count_max) cross join lateral (
    select * from tasks where parked = wanted.limit_id
     order by priority desc, ready_at, id limit wanted.count_max) as t;

-- name: due_limits
-- Limits whose time to be looked at has come.
select id, wake_at from limits where wake_at <= :now order by wake_at limit :count_max;

-- name: sum_limits
-- A tenant's limits: how many keys there are, what is in use of them, and who waits. Quotas are of
-- other things than attempts, and have figures of their own.
select count(*) as keys, sum(in_use) as in_use, sum(parked) as waiting from limits
 where (:tenant = '*' or tenant = :tenant) and key not like 'quota:%';

-- name: lock_runs
-- Take the runs of a session in key order, so that two sessions never wait for each other crosswise.
select id from runs where id = any(:ids) order by id for update;

-- name: next_due
-- When the next timer is due, of those that are not yet.
select min(due_at) as due_at from timers where due_at > :now;

-- name: count_runs
-- A tenant's runs by state.
select state, count(*) as n from runs where :tenant = '*' or tenant = :tenant group by state;

-- name: count_queues
-- Ready tasks by queue, and since when the oldest waits.
select queue, count(*) as n, min(ready_at) as oldest from tasks
 where state in ('queued', 'verifying') and queue is not null group by queue;

-- name: count_held
-- Live attempts of a tenant by worker.
select worker_id, count(*) as n from attempts
 where state in ('claimed', 'running')
   and (:tenant = '*' or exists (select 1 from runs r where r.id = attempts.run_id and r.tenant = :tenant))
 group by worker_id;

-- name: flow_versions
-- How many versions flows have, and the newest number.
select flow_id, count(*) as n, max(number) as latest from versions
 where flow_id = any(:flow_ids) group by flow_id;

-- name: stopping
-- Live attempts that were asked to stop, and who has them.
select id, worker_id from attempts
 where state in ('claimed', 'running') and cancel_at is not null limit :count_max;

-- name: lock_leases
-- The leases of some attempts, held until the transaction ends.
select id, lease_until from attempts where id = any(:ids) order by id for update;

-- name: newest_time
-- About when somebody last wrote something: the newest run, and whoever was heard of last.
select max(at) as at from (
    select max(seen_at) as at from workers
    union all
    select created_at from runs where id = (select max(id) from runs)
) as stamps;

-- name: expired_leases
-- Live attempts whose lease has run out; those that are pods have none.
select id, lease_until from attempts
 where state in ('claimed', 'running') and lease_until <= :now and external_ref = ''
 order by lease_until limit :count_max offset :passed_over;

-- name: detached_attempts
-- Live attempts that are pods.
select id, external_ref, state, cancel_at from attempts
 where external_ref <> '' and state in ('claimed', 'running') and id > :after
 order by id limit :count_max;

-- name: live_pods
-- Live attempts that are pods, those of the newest runs first.
select a.id from attempts a join runs r on r.id = a.run_id join tasks t on t.id = a.task_id
 where a.external_ref <> '' and a.state in ('claimed', 'running') and a.id < :before
   and (:tenant = '*' or r.tenant = :tenant) and (:state = '' or a.state = :state)
   and (:namespace = '' or a.external_ref like :namespace escape '\')
   and (:pattern = '' or a.run_id like :pattern escape '\' or lower(r.flow_name) like :pattern escape '\'
        or lower(t.node) like :pattern escape '\' or lower(a.external_ref) like :pattern escape '\')
 order by a.id desc limit :count_max;

-- name: ended_pods
-- Attempts that were pods, those of the newest runs first.
select a.id from attempts a join runs r on r.id = a.run_id join tasks t on t.id = a.task_id
 where a.external_ref <> '' and a.state not in ('claimed', 'running') and a.id < :before
   and (:tenant = '*' or r.tenant = :tenant) and (:state = '' or a.state = :state)
   and (:namespace = '' or a.external_ref like :namespace escape '\')
   and (:pattern = '' or a.run_id like :pattern escape '\' or lower(r.flow_name) like :pattern escape '\'
        or lower(t.node) like :pattern escape '\' or lower(a.external_ref) like :pattern escape '\')
 order by a.id desc limit :count_max;

-- name: attempts_of_pod
-- The attempts that are called so where they are done.
select id from attempts where external_ref <> '' and external_ref = any(:refs);

-- name: find_target
-- The version a run of a flow uses: the one named by number or else the newest published one, of
-- the flow with this id or else the newest of this name.
select f.id as flow_id, f.name as flow_name, v.id as version_id, v.number as number,
       v.dialect as dialect
  from flows f join versions v on v.flow_id = f.id
 where (f.id = :flow or f.name = :flow) and (:tenant = '*' or f.tenant = :tenant)
   and (v.number = :number or (:number = 0 and v.status = 'published'))
 order by case when f.id = :flow then 0 else 1 end, f.id desc, v.number desc limit 1;

-- name: version_numbers
-- Numbers of versions, without their texts.
select id, number from versions where id = any(:ids);

-- name: flow_names
-- Names of flows that runs are of, from one to before another: each step jumps to the next name in the
-- index.
with recursive names(name) as (
    select min(flow_name{bytewise}) from runs where flow_name{bytewise} >= :low and flow_name{bytewise} < :high
    union all
    select (select min(r.flow_name{bytewise}) from runs r
             where r.flow_name{bytewise} > names.name and r.flow_name{bytewise} < :high)
      from names where names.name is not null
)
select name from names where name is not null limit :count_max;

-- name: tags_between
-- Tags that runs have, from one to before another, likewise.
with recursive names(name) as (
    select min(tag) from run_tags where tag >= :low and tag < :high
    union all
    select (select min(t.tag) from run_tags t where t.tag > names.name and t.tag < :high)
      from names where names.name is not null
)
select name from names where name is not null limit :count_max;

-- name: params_begin
-- How the parameters of some runs begin.
select id, substr(params, 1, :chars_max) as beginning from runs where id = any(:ids);

-- name: shared_at
-- The shared keys of a run and how far it had come, at one moment.
select r.seq as seq, v.key as key, v.value as value
  from runs r left join variables v on v.scope = r.id where r.id = :run_id order by v.key limit 100000;

-- name: queue_names
-- The names of queues with ready tasks, without reading the tasks: each step jumps to the next name
-- in the index.
with recursive names(queue) as (
    select min(queue) from tasks where state in ('queued', 'verifying')
    union all
    select (select min(t.queue) from tasks t where t.state in ('queued', 'verifying') and t.queue > names.queue)
      from names where names.queue is not null
)
select queue from names where queue is not null;

-- name: queued_runs
-- Runs with ready tasks in some queues.
select distinct run_id from tasks where state in ('queued', 'verifying') and queue = any(:queues) limit :count_max;

-- name: unserved_tasks
-- Tasks of one dialect's flows that have waited in some queues for long enough.
select id from tasks
 where state in ('queued', 'verifying') and queue = any(:queues) and ready_at <= :before
   and exists (select 1 from runs r where r.id = tasks.run_id and r.dialect = :dialect)
 order by ready_at limit :count_max;

-- name: held_by
-- Live attempts of a worker: few are live at once, and a worker comes back seldom, so they are
-- looked through rather than indexed, which every attempt would pay for.
select id, run_id, queue, state, claimed_at, lease_until from attempts
 where worker_id = :worker_id and state in ('claimed', 'running') order by claimed_at;

-- name: bound_runs
-- Runs that have not ended and execute packages on a worker.
select distinct b.run_id from bindings b join runs r on r.id = b.run_id
 where b.worker_id = :worker_id and b.run_id > :after and r.state in ('queued', 'running', 'waiting')
 order by b.run_id limit :count_max;

-- name: list_package_versions
-- Versions that can be used, without their manifests, and whose package each is of.
select v.id, v.name, v.version, v.status, p.owner, p.visibility
  from package_versions v join packages p on p.name = v.name
 where v.status <> 'yanked' and (:tenant = '*' or p.tenant = :tenant) order by v.id limit :count_max;

-- name: list_workflows
-- The newest version of each workflow that is not deleted, by the workflow's id.
select f.id as flow_id, v.id as version_id
  from flows f join versions v on v.flow_id = f.id
 where v.dialect = 'workflow' and v.status <> 'deleted' and f.id > :after and f.name like :pattern escape '\'
   and (:tenant = '*' or f.tenant = :tenant)
   and v.number = (select max(n.number) from versions n
                    where n.flow_id = f.id and n.dialect = 'workflow' and n.status <> 'deleted')
 order by f.id limit :count_max;

-- name: used_bytes
-- What the files of a tenant take: those that are there, and those that are on their way.
select coalesce(sum(size_bytes), 0) as bytes from resources
 where tenant = :tenant and state <> 'aborted'
   and (state = 'complete' or expires_at is null or expires_at > :now);
