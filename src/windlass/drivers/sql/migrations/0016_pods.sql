-- Attempts that are pods: those that live, and those of a pod by its name. What is none costs nothing.
create index attempts_detached on attempts (id)
    where external_ref <> '' and state in ('claimed', 'running');
create index attempts_of_pod on attempts (external_ref) where external_ref <> '';
