-- name: log_pieces_after
-- What some attempts of a run said, oldest first and without the texts: the chunks that were kept
-- while they ran, and the logs that came with their results. `said` is the last chunk before those.
select at, attempt_id, number, size, said from (
    select * from (
        select at, attempt_id, number, length(text) as size, number as said from log_chunks
         where run_id = :run_id and channel = any(:channels)
           and (at, attempt_id, number) >= (:at, :attempt_id, :number)
           and attempt_id >= :low and attempt_id <= :high
         order by at, attempt_id, number limit :count_max) as chunks
    union all
    select * from (
        select finished_at, id, 9223372036854775807, length(log),
               (select max(number) from log_chunks
                 where log_chunks.attempt_id = attempts.id and channel = 'log')
          from attempts
         where run_id = :run_id and log is not null and 'log' = any(:channels)
           and (finished_at, id) >= (:at, :attempt_id)
           and id >= :low and id <= :high
         order by finished_at, id limit :count_max) as results
) as pieces
 order by at, attempt_id, number limit :count_max;

-- name: log_pieces_before
-- The same, newest first.
select at, attempt_id, number, size, said from (
    select * from (
        select at, attempt_id, number, length(text) as size, number as said from log_chunks
         where run_id = :run_id and channel = any(:channels)
           and (at, attempt_id, number) <= (:at, :attempt_id, :number)
           and attempt_id >= :low and attempt_id <= :high
         order by at desc, attempt_id desc, number desc limit :count_max) as chunks
    union all
    select * from (
        select finished_at, id, 9223372036854775807, length(log),
               (select max(number) from log_chunks
                 where log_chunks.attempt_id = attempts.id and channel = 'log')
          from attempts
         where run_id = :run_id and log is not null and 'log' = any(:channels)
           and (finished_at, id) <= (:at, :attempt_id)
           and id >= :low and id <= :high
         order by finished_at desc, id desc limit :count_max) as results
) as pieces
 order by at desc, attempt_id desc, number desc limit :count_max;
