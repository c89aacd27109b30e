-- What lies in a partition that is on its way out is shown again at once when it is owed again; and no
-- event has salts that nobody asks for.

-- By what the statement's snapshot shows: names that were looked up before a wait are remembered too long.
create or replace function partition_exists(child text) returns boolean
language sql set search_path = indelible, pg_temp as $$
  select exists (select from pg_class join pg_inherits on inhrelid = pg_class.oid
    where relnamespace = 'indelible'::regnamespace and relname = child::name
      and inhparent = 'audit_events'::regclass)
$$;

-- As before, but what exists is found without waiting for whoever is making another one.
create or replace function place_partition(class smallint, moment timestamptz) returns void
language plpgsql set search_path = indelible, pg_temp as $$
declare
  unit text := case class when 0 then 'day' else 'month' end;
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

-- Every partition from today on, so many days ahead, so that recording never has to wait for one.
create function make_partitions_ahead(today timestamptz, days int) returns void language sql as $$
  select place_partition(0::smallint, day)
    from generate_series(today, today + make_interval(days => days), '1 day') day;
  select place_partition(class::smallint, today + make_interval(months => m))
    from generate_series(1, 3) class, generate_series(0, ceil(days / 31.0)::int) m;
$$;

-- What retention has detached and not yet dropped, by the moments its partitions begin at.
create function detached_partitions() returns table (class smallint, first timestamptz) language sql as $$
  select (array_position(array['starter', 'pro', 'enterprise', 'held'], part[1]) - 1)::smallint,
    to_date(rpad(part[2], 8, '01'), 'YYYYMMDD')::timestamp at time zone 'UTC'
  from pg_class, regexp_match(relname, '^audit_events_(starter|pro|enterprise|held)_(\d{6}(?:\d\d)?)$') as part
  where relnamespace = 'indelible'::regnamespace and relkind = 'r' and part is not null
    and not exists (select from pg_inherits where inhrelid = pg_class.oid)
$$;

-- As before, but a tenant that is owed more than it was (a greater plan, a hold) sees at once what a
-- retention run has detached and not yet decided about: the run finds it attached, and leaves it.
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
  if class > former then
    perform place_partition(d.class, d.first) from detached_partitions() d;
  end if;
  insert into log_heads (tenant_id, retention_class) values (tenant, class)
  on conflict (tenant_id) do update set retention_class = excluded.retention_class,
    other_classes = (select array_agg(distinct c order by c)
      from unnest(log_heads.other_classes || log_heads.retention_class) c where c <> excluded.retention_class)
    where log_heads.retention_class <> excluded.retention_class;
end $$;

-- 16 bytes a segment, and not one more, which no reader of the API would ever see. Rows that are there
-- already are left alone: looking at each would take the lock for as long.
do $$ declare
  events name;
begin
  for events in select 'audit_events' union all
      select partition_name(class, first) from detached_partitions() loop
    execute format('alter table %I add constraint salts_of_segments check (octet_length(salts) = 48 + case
      when before is not null or after is not null or erased->>''state'' is not null then 16 else 0 end) not valid', events);
  end loop;
end $$;

revoke execute on function make_partitions_ahead(timestamptz, int), detached_partitions from public;
