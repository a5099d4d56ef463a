-- How many open questions hold back all of a run. Releases before this one ask none that do.
alter table runs add column barriers bigint not null default 0;
