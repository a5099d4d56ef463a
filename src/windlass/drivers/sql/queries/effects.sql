-- name: claim_effects
-- Take what is due for some addresses and nobody has, of each run only so many, so that one with
-- thousands does not keep the others waiting.
update effects set holder = :holder, lease_until = :lease_until, tries = tries + 1
 where id in (
    select id from (
        select id, due_at, row_number() over (partition by run_id order by due_at, id) as place
          from (select id, run_id, due_at from effects
                 where state = 'waiting' and address = any(:addresses)
                   and due_at <= :now and lease_until <= :now
                 order by due_at limit :looked_at {skip_locked}) as due
    ) as placed where place <= :each_max order by due_at, id limit :count_max
 )
returning {columns};

-- name: end_effects
-- Remove what was done, unless its lease has gone to another.
delete from effects where id = any(:ids) and holder = :holder;

-- name: next_effect
-- When the next effect for some addresses is due.
select min(case when lease_until > due_at then lease_until else due_at end) as due_at from effects
 where state = 'waiting' and address = any(:addresses);

-- name: count_effects
-- Effects that wait, and those nobody could do.
select state, count(*) as n from effects group by state;

-- name: count_dead_letters
-- A tenant's dead letters by kind.
select kind, count(*) as n from dead_letters where :tenant = '*' or tenant = :tenant group by kind;

-- name: count_env_sessions
-- A tenant's environments that are not over, by kind and state.
select kind, state, count(*) as n from env_sessions
where state <> 'released' and (:tenant = '*' or tenant = :tenant)
group by kind, state
order by kind, state;
