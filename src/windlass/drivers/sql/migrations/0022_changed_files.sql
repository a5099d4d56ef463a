-- Which files of a place are others in a snapshot than when the place was made.
alter table env_snapshots add column files text not null default '';
