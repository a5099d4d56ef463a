-- What came with an attempt's outcome beside it: warnings and metadata. On SQLite the release before
-- this one runs on it; on PostgreSQL it sends rows by the table's own type, so stop it first.

alter table attempts add column notes text;
