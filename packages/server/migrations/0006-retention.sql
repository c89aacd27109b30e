-- Retention: what former plans and holds still protect, which moment the job may believe, and how
-- partitions are made ahead of any clock.

-- Until when a tenant's events are kept as under a plan it has left, or a hold that was lifted: they
-- are hidden at once and removed after the grace.
alter table tenants
  add column pro_until timestamptz,
  add column enterprise_until timestamptz,
  add column held_until timestamptz;

-- Of changes before this release nobody wrote down the moment: the grace begins now.
update tenants set held_until = now() + interval '30 days'
  where exists (select from log_heads where tenant_id = id and other_classes <> '{}');

-- A clock may be wrong for an hour, and what is removed does not come back: a run goes by a moment that
-- a run of the day before has seen already.
create table retention_clock (
  only_row boolean primary key default true check (only_row),
  seen_at timestamptz not null,
  believed_at timestamptz check (believed_at <= seen_at)
);
insert into retention_clock (seen_at) values (now());

-- Makes the partition that holds moment: daily for starter, monthly for the others. Idempotent;
-- CREATE + ATTACH, because CREATE ... PARTITION OF would wait behind every open read. What the
-- retention job has detached and not yet dropped comes back with its rows.
create function place_partition(class smallint, moment timestamptz) returns void
language plpgsql set search_path = indelible, pg_temp as $$
declare
  unit text := case class when 0 then 'day' else 'month' end;
  first timestamptz := date_trunc(unit, moment, 'UTC');
  bound timestamptz := (first at time zone 'UTC' + ('1 ' || unit)::interval) at time zone 'UTC';
  child text := partition_name(class, moment);
begin
  perform pg_advisory_xact_lock(hashtext('indelible.make_partition'));
  if partition_exists(child) then
    return;
  end if;
  execute format('create table if not exists %I (like audit_events including all)', child);
  execute format('alter table audit_events attach partition %I for values from (%s, %L) to (%s, %L)',
    child, class, first_id_at(first), class, first_id_at(bound));
end $$;

create function partition_name(class smallint, moment timestamptz) returns text language sql as $$
  select format('audit_events_%s_%s', (array['starter', 'pro', 'enterprise', 'held'])[class + 1],
    to_char(moment at time zone 'UTC', case class when 0 then 'YYYYMMDD' else 'YYYYMM' end))
$$;

create function partition_exists(child text) returns boolean
language sql set search_path = indelible, pg_temp as $$
  select exists (select from pg_inherits where inhparent = 'audit_events'::regclass
    and inhrelid = to_regclass('indelible.' || quote_ident(child)))
$$;

-- For whoever records. What exists is found first: only making one is bound to the server's clock.
create or replace function make_partition(class smallint, moment timestamptz) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if (class between 0 and 3 and moment >= '1970-01-01 UTC' and (moment < now() + interval '1 year'
      or partition_exists(partition_name(class, moment)))) is not true then
    raise exception 'no event can lie in that partition' using errcode = 'invalid_parameter_value';
  end if;
  perform place_partition(class, moment);
end $$;

-- Every partition from today to three months ahead, so that recording never has to wait for one.
create or replace function make_partitions_ahead(today timestamptz) returns void language sql as $$
  select place_partition(0::smallint, day) from generate_series(today, today + interval '92 days', '1 day') day;
  select place_partition(class::smallint, today + make_interval(months => m))
    from generate_series(1, 3) class, generate_series(0, 3) m;
$$;

-- A tenant's log begins with its row here; a plan change moves new events to another class. It takes
-- the plans' lock in common with others: a partition is dropped while nobody's plan or hold changes.
create or replace function open_log(tenant uuid, class smallint) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  select pg_advisory_xact_lock_shared(hashtext('indelible.plans'));
  insert into log_heads (tenant_id, retention_class) values (tenant, class)
  on conflict (tenant_id) do update set retention_class = excluded.retention_class,
    other_classes = (select array_agg(distinct c order by c)
      from unnest(log_heads.other_classes || log_heads.retention_class) c where c <> excluded.retention_class)
    where log_heads.retention_class <> excluded.retention_class
$$;

revoke execute on function place_partition, partition_name, partition_exists from public;
