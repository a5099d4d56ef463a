-- Attempts that were pods, for whoever lists them. Without those that live: SQLite, which has no figures to go by, would take
-- an index of all pods for the one of those that live.
create index attempts_ended_pods on attempts (id)
    where external_ref <> '' and state not in ('claimed', 'running');
