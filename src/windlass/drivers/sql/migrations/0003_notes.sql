-- What came with an attempt's outcome beside it: warnings and metadata. Pre-deploy: the release before
-- this one runs on it.

alter table attempts add column notes text;
