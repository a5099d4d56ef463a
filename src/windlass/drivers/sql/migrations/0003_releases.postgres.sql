-- A release sends rows by the type that a table's name stands for, so a column more in that table
-- would stop it. The tables move to a namespace of their own, and each release reads and writes views
-- in its own namespace that show the columns it knows: `public` is the release before this one's.
create schema windlass;

do $$
declare
    name text;
begin
    for name in select tablename from pg_tables
        where schemaname = 'public' and tablename in ('affinities', 'api_tokens', 'artifacts',
            'attempts', 'audit', 'bindings', 'checkpoints', 'events', 'flows', 'graph_patches',
            'idempotency', 'log_chunks', 'manifests', 'meta', 'migrations', 'package_versions',
            'packages', 'resources', 'runs', 'tasks', 'timers', 'users', 'variables',
            'verifications', 'versions', 'workers')
    loop
        execute format('alter table public.%I set schema windlass', name);
        execute format('create view public.%I as select * from windlass.%I', name, name);
    end loop;
end $$;
