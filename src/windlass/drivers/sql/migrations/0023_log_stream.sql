-- One stream of all that a run's attempts have logged. What has logged nothing costs nothing.
alter table log_chunks add column marks text not null default '';
create index log_chunks_of_run on log_chunks (run_id, at, attempt_id, number);
create index attempts_with_log on attempts (run_id, finished_at, id) where log is not null;
