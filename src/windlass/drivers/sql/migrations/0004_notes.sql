-- What came with an attempt's outcome beside it: warnings and metadata.

alter table attempts add column notes text;
