-- Two releases on one database. From here on every migration adds without taking away, so that the
-- release before it goes on running; what ran stands in a table, since the number that a release
-- of before looks at must stay what it knows.

create table migrations (
    number bigint primary key,
    name text not null,
    applied_at bigint not null
);
