-- Attempts that are pods, whether they live or not, for whoever lists them. What is none costs nothing.
create index attempts_that_are_pods on attempts (id) where external_ref <> '';
