-- An end is final: leaving one takes a new generation, which only a recorded reopening gives.
create function windlass_has_ended() returns trigger language plpgsql as $$
begin
    raise exception '% has ended', tg_argv[0] using errcode = 'WL001';
end $$;

create trigger runs_end_is_final before update on runs for each row
when (old.state in ('succeeded', 'failed', 'cancelled')
    and new.state <> old.state and new.generation <= old.generation)
execute function windlass_has_ended('run');

create trigger tasks_end_is_final before update on tasks for each row
when (old.state in ('succeeded', 'failed', 'skipped', 'cancelled', 'superseded')
    and new.state <> old.state and new.generation <= old.generation)
execute function windlass_has_ended('task');

create trigger attempts_end_is_final before update on attempts for each row
when (old.state not in ('claimed', 'running') and new.state <> old.state)
execute function windlass_has_ended('attempt');

-- Ends a save whose rows somebody else changed first; see windlass.drivers.store.postgres.
create function windlass_raced() returns bigint language plpgsql volatile as $$
begin
    raise exception 'a row was changed by somebody else first' using errcode = 'WL002';
end $$;
