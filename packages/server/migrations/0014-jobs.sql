-- One queue of background jobs in place of two: the tables of pg-boss, and the due times of restores.

create table jobs (
  tenant_id uuid not null,
  queue text not null,
  id uuid not null,
  data json not null,
  priority int not null default 0, -- higher goes first
  attempts int not null default 0, -- those that have begun
  due_at timestamptz not null, -- the next attempt; while one runs, when its lease ends
  lease uuid, -- of the process that works on it; null: it waits
  primary key (tenant_id, queue, id)
);
create index jobs_due on jobs (queue, due_at);

alter table jobs enable row level security;
-- Workers take the jobs of all tenants: the named exception.
create policy any_tenant on jobs to indelible_writer using (true) with check (true);
grant select, insert, delete on jobs to indelible_writer;
grant update (attempts, due_at, lease) on jobs to indelible_writer;

-- What is under way goes on: exports and restores from their own rows, mail from the former queues.
insert into jobs (tenant_id, queue, id, data, attempts, due_at)
  select tenant_id, 'restore', id, json_build_object('tenantId', tenant_id, 'id', id), attempts, due_at
  from restores where status = 'requested';
insert into jobs (tenant_id, queue, id, data, priority, due_at)
  select tenant_id, 'export', id, json_build_object('tenantId', tenant_id, 'id', id),
    1 - row_number() over (partition by tenant_id order by id), created_at
  from exports where mode = 'job' and status in ('queued', 'running');
do $$ begin
  if to_regclass('indelible_jobs.job') is not null then
    insert into jobs (tenant_id, queue, id, data, attempts, due_at)
      select group_id::uuid, name, id, data::json, retry_count, start_after from indelible_jobs.job
      where name in ('export-mail', 'webhook-mail', 'tenant-mail')
        and state in ('created', 'retry', 'active');
  end if;
end $$;
drop schema if exists indelible_jobs cascade;

alter table restores drop column attempts, drop column due_at;
