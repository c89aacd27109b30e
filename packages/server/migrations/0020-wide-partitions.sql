-- A writer cannot make partitions without bound: what a plan does not keep needs none, and what lies long
-- ago under a legal hold, which keeps everything, shares one partition a year.

-- Before this moment a partition of the class holds a year. Not where narrower ones exist.
alter table plans add column wide_before timestamptz;
update plans set wide_before = date_trunc('year', least('2018-01-01 UTC', (
    select min(to_date(part[1], 'YYYYMM')::timestamp at time zone 'UTC')
    from pg_class, regexp_match(relname, '^audit_events_3_(\d{6})$') as part
    where relnamespace = 'indelible'::regnamespace and part is not null)), 'UTC')
  where name is null;

create function partition_unit(class smallint, moment timestamptz) returns text
language sql set search_path = indelible, pg_temp as $$
  select case when moment < p.wide_before then 'year' else p.unit end
  from plans p where p.class = partition_unit.class
$$;
revoke execute on function partition_unit from public;

create or replace function partition_name(class smallint, moment timestamptz) returns text
language sql set search_path = indelible, pg_temp as $$
  select format('audit_events_%s_%s', class, to_char(moment at time zone 'UTC',
    case unit when 'day' then 'YYYYMMDD' when 'month' then 'YYYYMM' else 'YYYY' end))
  from partition_unit(class, moment) unit where unit is not null
$$;

-- As before, with the unit of the class at that time.
create or replace function place_partition(class smallint, moment timestamptz) returns void
language plpgsql set search_path = indelible, pg_temp as $$
declare
  unit text := partition_unit(class, moment);
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

-- As before, but for nothing that the plan of the class has not kept for months.
create or replace function make_partition(class smallint, moment timestamptz) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if (exists (select from plans p where p.class = make_partition.class and (p.name is null
        or moment > now() - make_interval(years => p.years, days => p.days + 100)))
      and moment >= '1970-01-01 UTC' and moment < now() + interval '1 year'
      or partition_exists(partition_name(class, moment))) is not true then
    raise exception 'no event can lie in that partition' using errcode = 'invalid_parameter_value';
  end if;
  perform place_partition(class, moment);
end $$;

create or replace function detached_partitions() returns table (class smallint, first timestamptz) language sql as $$
  select part[1]::smallint, to_date(rpad(part[2], 8, '0101'), 'YYYYMMDD')::timestamp at time zone 'UTC'
  from pg_class, regexp_match(relname, '^audit_events_(\d+)_(\d{4}(?:\d\d){0,2})$') as part
  where relnamespace = 'indelible'::regnamespace and relkind = 'r' and part is not null
    and not exists (select from pg_inherits where inhrelid = pg_class.oid)
$$;
