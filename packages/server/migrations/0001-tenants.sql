-- Plans and tenants. What the owner's jobs remove follows from a tenant's plan, hold, graces and the mark of its archive.
-- A serving login changes plan and hold by change_terms alone, which grants the grace, and the others not at all.
-- Runs as indelible_owner with search_path = indelible, as all migrations. Forward only; never edited once landed.

grant usage on schema indelible to indelible_writer, indelible_reader;

-- Plans are rows, and nothing else in the schema is named after one: an operator adds to them in the CATALOGUE_FILE,
-- which `indelible migrate` stores here. A class is its plan's for good: a plan that is gone keeps its row, and with it
-- the partitions' length.
create table plans (
  class smallint primary key,
  name text unique,
  days int not null default 0,
  years int not null default 0,
  archive boolean not null default false,
  unit text not null check (unit in ('day', 'month')), -- what one partition holds
  retired boolean not null default false,
  wide_before timestamptz, -- before this moment a partition of the class holds a year
  check ((name is null) = (class in (3, 1000))),
  check (name is null or (days > 0) <> (years > 0))
);
-- Class 3 is the legal hold, which keeps everything: what lies long ago shares one partition a year, so a writer cannot
-- make partitions without bound. Class 1000 has late events, whatever their tenant's plan: retention counts from their
-- receipt, and removes each row by it. So all other partitions can be dropped whole, a day after their end has expired.
insert into plans (class, name, days, years, archive, unit, retired, wide_before) values
  (0, 'Starter', 30, 0, false, 'day', false, null),
  (1, 'Pro', 0, 1, false, 'month', false, null),
  (2, 'Enterprise', 0, 7, true, 'month', false, null),
  (3, null, 0, 0, false, 'month', false, '2018-01-01 UTC'),
  (1000, null, 0, 0, false, 'month', true, 'infinity');

-- No table references a tenant: tenants are never deleted, and on a cluster tables that are not distributed cannot
-- reference them.
create table tenants (
  id uuid primary key,
  name text not null,
  plan text not null references plans (name),
  locale text not null default 'en',
  time_zone text not null default 'UTC',
  notify_emails text[] not null default '{}',
  restore_url text,
  restore_secret bytea, -- sealed with the session secret, never in clear
  legal_hold boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  digest text not null default 'none' check (digest in ('none', 'weekly', 'monthly')),
  -- The end of the last period that was taken, a midnight in the tenant's time zone; null: the first period is the one
  -- that is running.
  digests_until timestamptz,
  cold_before uuid -- events with a lower id, except late ones, are read from the archive alone
);

-- Until when a tenant's events are kept as under a plan it has left, or a hold that was lifted: they are hidden at once
-- and removed after the grace.
create table grace (
  tenant_id uuid,
  class smallint references plans,
  until timestamptz not null,
  primary key (tenant_id, class)
);

-- Addresses that got a tenant's notices until they were removed: for a while they still hear of what takes protection
-- from the tenant, so that removing them first evades nothing.
create table former_emails (
  tenant_id uuid not null,
  email text not null,
  until timestamptz not null,
  primary key (tenant_id, email)
);

-- The grace begins when the tenant is changed, not when the transaction began: one that had begun 30 days before would
-- give none. One that is not committed holds the tenant's row, which retention waits for. The mail names the same 30 days.
-- Without a join: on a cluster this runs on the node of the tenant, where it may read `plans`, but not join it.
create function change_terms(home uuid, new_plan text, new_hold boolean, moment timestamptz) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  former record;
  left_classes smallint[];
  left_class smallint;
begin
  select plan, legal_hold into former from tenants where id = home;
  select array_agg(class) into left_classes from plans where name = former.plan and name <> new_plan;
  update tenants set plan = new_plan, legal_hold = new_hold where id = home;
  foreach left_class in array coalesce(left_classes, '{}')
      || case when former.legal_hold and not new_hold then array[3::smallint] else '{}' end loop
    insert into grace as g (tenant_id, class, until)
      values (home, left_class, greatest(moment, clock_timestamp()) + interval '30 days')
      on conflict (tenant_id, class) do update set until = greatest(g.until, excluded.until);
  end loop;
end $$;

-- Excludes a change of plans, and the retention job's look at them, until the transaction ends: a partition is dropped
-- while no plan or hold changes.
create function hold_plans() returns void
language sql security definer set search_path = indelible, pg_temp as $$
  select pg_advisory_xact_lock_shared(hashtext('indelible.plans'))
$$;

alter table tenants enable row level security;
alter table grace enable row level security;
alter table former_emails enable row level security;
create policy tenant_only on tenants for select to indelible_reader
  using (id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- Tenants are administered, and jobs work for many: the named exceptions, as every policy any_tenant.
create policy any_tenant on tenants to indelible_writer using (true) with check (true);
create policy any_tenant on grace to indelible_writer using (true) with check (true);
create policy any_tenant on former_emails to indelible_writer using (true) with check (true);

grant select on plans to indelible_reader, indelible_writer;
grant select on tenants to indelible_reader, indelible_writer;
grant insert (id, name, plan, locale, time_zone, notify_emails, digest, restore_url, legal_hold, created_at, updated_at),
  update (name, locale, time_zone, notify_emails, digest, digests_until, restore_url, restore_secret, updated_at)
  on tenants to indelible_writer;
grant select on grace to indelible_writer;
grant select, insert, update, delete on former_emails to indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function change_terms, hold_plans to indelible_writer;
