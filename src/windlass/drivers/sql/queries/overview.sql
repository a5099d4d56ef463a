-- name: window_slices
-- Runs that began in a window, by slice of it and state. Ids begin with the time, so the primary
-- key finds the window.
select (created_at - :since) / :width as slice, state, count(*) as n from runs
 where id >= :low and (:tenant = '*' or tenant = :tenant) group by slice, state;

-- name: window_flows
-- Runs that began in a window, by flow and state.
select flow_name, state, count(*) as n from runs where id >= :low and (:tenant = '*' or tenant = :tenant) group by flow_name, state;
