-- An end is final: leaving one takes a new generation, which only a recorded reopening gives.
create trigger runs_end_is_final before update on runs
when old.state in ('succeeded', 'failed', 'cancelled')
    and new.state <> old.state and new.generation <= old.generation
begin
    select raise(abort, 'run has ended');
end;

create trigger tasks_end_is_final before update on tasks
when old.state in ('succeeded', 'failed', 'skipped', 'cancelled', 'superseded')
    and new.state <> old.state and new.generation <= old.generation
begin
    select raise(abort, 'task has ended');
end;

create trigger attempts_end_is_final before update on attempts
when old.state not in ('claimed', 'running') and new.state <> old.state
begin
    select raise(abort, 'attempt has ended');
end;
