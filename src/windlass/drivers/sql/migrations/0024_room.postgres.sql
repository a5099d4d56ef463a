-- Runs and shared keys are changed many times each. Where a page has room, a changed row stays on it,
-- and no index has to be told unless a column of its own is another.
alter table runs set (fillfactor = 50);
alter table variables set (fillfactor = 50);
