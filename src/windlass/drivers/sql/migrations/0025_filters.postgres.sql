-- Beginnings of names are found in the order of bytes.
drop index runs_by_flow;
create index runs_by_flow on runs (flow_name collate "C", id);
create function windlass.keep_run_tags() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        delete from windlass.run_tags where run_id = old.id;
    else
        insert into windlass.run_tags (tag, run_id)
        select substr(key || '=' || value, 1, 200), new.id from json_each_text(new.tags::json)
        on conflict do nothing;
    end if;
    return null;
end $$;
create trigger run_tags_made after insert on runs for each row when (new.tags <> '{}')
    execute function windlass.keep_run_tags();
create trigger run_tags_gone after delete on runs for each row when (old.tags <> '{}')
    execute function windlass.keep_run_tags();
insert into run_tags (tag, run_id)
select substr(tag.key || '=' || tag.value, 1, 200), runs.id
from runs, json_each_text(runs.tags::json) as tag where runs.tags <> '{}'
on conflict do nothing;
