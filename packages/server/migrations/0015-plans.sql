-- Plans are rows, and nothing else in the schema is named after one: an operator adds to them in the
-- CATALOGUE_FILE, which `indelible migrate` writes down here.

-- A class is its plan's for good: a plan that is gone keeps its row, and with it the partitions' length.
-- The row without a name is the legal hold, which keeps everything.
create table plans (
  class smallint primary key,
  name text unique,
  days int not null default 0,
  years int not null default 0,
  archive boolean not null default false,
  unit text not null check (unit in ('day', 'month')), -- what one partition holds
  retired boolean not null default false,
  check ((name is null) = (class = 3)),
  check (name is null or (days > 0) <> (years > 0))
);
insert into plans (class, name, days, years, archive, unit) values
  (0, 'Starter', 30, 0, false, 'day'),
  (1, 'Pro', 0, 1, false, 'month'),
  (2, 'Enterprise', 0, 7, true, 'month'),
  (3, null, 0, 0, false, 'month');
grant select on plans to indelible_reader, indelible_writer;

alter table tenants drop constraint tenants_plan_check, add foreign key (plan) references plans (name);
alter table log_heads drop constraint log_heads_retention_class_check,
  add foreign key (retention_class) references plans;

-- Until when a tenant's events are kept as under a plan it has left, or a hold that was lifted: they
-- are hidden at once and removed after the grace.
create table grace (
  tenant_id uuid references tenants,
  class smallint references plans,
  until timestamptz not null,
  primary key (tenant_id, class)
);
insert into grace
  select id, class, until from tenants,
    lateral (values (1, pro_until), (2, enterprise_until), (3, held_until)) as columns (class, until)
  where until is not null;
alter table tenants drop column pro_until, drop column enterprise_until, drop column held_until;
alter table grace enable row level security;
create policy any_tenant on grace to indelible_writer using (true) with check (true);
grant select, insert, update (until) on grace to indelible_writer;

-- Partitions are named after the class: audit_events_<class>_<YYYYMM or YYYYMMDD>.
do $$ declare
  former record;
begin
  for former in
    select relname, array_position(array['starter', 'pro', 'enterprise', 'held'], part[1]) - 1 as class, part[2] as first
    from pg_class, regexp_match(relname, '^audit_events_(starter|pro|enterprise|held)_(\d+)$') as part
    where relnamespace = 'indelible'::regnamespace and relkind = 'r' and part is not null
  loop
    execute format('alter table %I rename to %I', former.relname,
      format('audit_events_%s_%s', former.class, former.first));
  end loop;
end $$;

create or replace function partition_name(class smallint, moment timestamptz) returns text
language sql set search_path = indelible, pg_temp as $$
  select format('audit_events_%s_%s', p.class, to_char(moment at time zone 'UTC',
    case p.unit when 'day' then 'YYYYMMDD' else 'YYYYMM' end))
  from plans p where p.class = partition_name.class
$$;

-- As before, with the unit of the class.
create or replace function place_partition(class smallint, moment timestamptz) returns void
language plpgsql set search_path = indelible, pg_temp as $$
declare
  unit text := (select p.unit from plans p where p.class = place_partition.class);
  first timestamptz := date_trunc(unit, moment, 'UTC');
  bound timestamptz := (first at time zone 'UTC' + ('1 ' || unit)::interval) at time zone 'UTC';
  child text := partition_name(class, moment);
begin
  if partition_exists(child) then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('indelible.make_partition'));
  if partition_exists(child) then
    return;
  end if;
  execute format('create table if not exists %I (like audit_events including all)', child);
  execute format('alter table audit_events attach partition %I for values from (%s, %L) to (%s, %L)',
    child, class, first_id_at(first), class, first_id_at(bound));
end $$;

create or replace function make_partition(class smallint, moment timestamptz) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if (exists (select from plans p where p.class = make_partition.class) and moment >= '1970-01-01 UTC'
      and (moment < now() + interval '1 year' or partition_exists(partition_name(class, moment)))) is not true then
    raise exception 'no event can lie in that partition' using errcode = 'invalid_parameter_value';
  end if;
  perform place_partition(class, moment);
end $$;

drop function make_partitions_ahead(timestamptz);
create or replace function make_partitions_ahead(today timestamptz, days int) returns void language sql as $$
  select place_partition(class, day)
    from plans, generate_series(today, today + make_interval(days => make_partitions_ahead.days), '1 day') day
    where unit = 'day' and not retired;
  select place_partition(class, today + make_interval(months => m))
    from plans, generate_series(0, ceil(make_partitions_ahead.days / 31.0)::int) m
    where unit = 'month' and not retired;
$$;

create or replace function detached_partitions() returns table (class smallint, first timestamptz) language sql as $$
  select part[1]::smallint, to_date(rpad(part[2], 8, '01'), 'YYYYMMDD')::timestamp at time zone 'UTC'
  from pg_class, regexp_match(relname, '^audit_events_(\d+)_(\d{6}(?:\d\d)?)$') as part
  where relnamespace = 'indelible'::regnamespace and relkind = 'r' and part is not null
    and not exists (select from pg_inherits where inhrelid = pg_class.oid)
$$;

-- As before, but how much a class keeps follows from its plan, not from its number.
create or replace function open_log(tenant uuid, class smallint) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  former smallint;
begin
  perform pg_advisory_xact_lock_shared(hashtext('indelible.plans'));
  select retention_class into former from log_heads where tenant_id = tenant;
  if former is null and (
      exists (select from log_tail where tenant_id = tenant)
      or exists (select from log_tiles where tenant_id = tenant)
      or exists (select from log_checkpoints where tenant_id = tenant)) then
    raise exception 'the log has no head' using errcode = 'IND02';
  end if;
  if exists (select from plans p, plans f where p.class = open_log.class and f.class = former
      and f.name is not null and (p.name is null
        or make_interval(years => p.years, days => p.days) > make_interval(years => f.years, days => f.days))) then
    perform place_partition(d.class, d.first) from detached_partitions() d;
  end if;
  insert into log_heads (tenant_id, retention_class) values (tenant, open_log.class)
  on conflict (tenant_id) do update set retention_class = excluded.retention_class,
    other_classes = (select array_agg(distinct c order by c)
      from unnest(log_heads.other_classes || log_heads.retention_class) c where c <> excluded.retention_class)
    where log_heads.retention_class <> excluded.retention_class;
end $$;
