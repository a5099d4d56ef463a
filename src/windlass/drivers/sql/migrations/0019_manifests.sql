-- What an attempt of a plan was given when it was leased, and one hash over all of it.
alter table attempts add column manifest text not null default '';
