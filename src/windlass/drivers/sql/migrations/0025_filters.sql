-- What filters of runs look for. Tags are in a table that the database itself keeps, as it keeps an
-- index, so that runs which a server of an earlier release starts are found by theirs as well.
create index runs_of_version on runs (version_id, id);
create index runs_with_error on runs (id) where error is not null;
create table run_tags (
    tag {id} not null,
    run_id {id} not null,
    primary key (tag, run_id)
) {clustered};
create index tags_of_run on run_tags (run_id);
