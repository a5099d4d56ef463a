create trigger run_tags_made after insert on runs when new.tags <> '{}' begin
    insert or ignore into run_tags (tag, run_id)
    select substr(key || '=' || value, 1, 200), new.id from json_each(new.tags);
end;
create trigger run_tags_gone after delete on runs when old.tags <> '{}' begin
    delete from run_tags where run_id = old.id;
end;
insert or ignore into run_tags (tag, run_id)
select substr(tag.key || '=' || tag.value, 1, 200), runs.id from runs, json_each(runs.tags) as tag
where runs.tags <> '{}';
