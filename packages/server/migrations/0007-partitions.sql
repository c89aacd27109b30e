-- Partitions of events, by retention class and time: audit_events_<class>_<YYYYMMDD, YYYYMM or YYYY>. How they come and go
-- beside readers: docs/decisions/0019-partitions-that-come-and-go.md.

-- A clock may be wrong for an hour, and what retention removes does not come back: a run goes by a moment that a run of the
-- day before has seen already.
create table retention_clock (
  only_row boolean primary key default true check (only_row),
  seen_at timestamptz not null,
  believed_at timestamptz check (believed_at <= seen_at)
);
insert into retention_clock (seen_at) values (now());

-- The first possible id of a moment: a UUIDv7 starts with 48 bits of milliseconds.
create function first_id_at(moment timestamptz) returns uuid language sql immutable as $$
  select (rpad(lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0'))::uuid
$$;

create function partition_unit(class smallint, moment timestamptz) returns text
language sql set search_path = indelible, pg_temp as $$
  select case when moment < p.wide_before then 'year' else p.unit end
  from plans p where p.class = partition_unit.class
$$;

create function partition_name(class smallint, moment timestamptz) returns text
language sql set search_path = indelible, pg_temp as $$
  select format('audit_events_%s_%s', class, to_char(moment at time zone 'UTC',
    case unit when 'day' then 'YYYYMMDD' when 'month' then 'YYYYMM' else 'YYYY' end))
  from partition_unit(class, moment) unit where unit is not null
$$;

-- By what the statement's snapshot shows: names that were looked up before a wait are remembered too long.
create function partition_exists(child text) returns boolean
language sql set search_path = indelible, pg_temp as $$
  select exists (select from pg_class join pg_inherits on inhrelid = pg_class.oid
    where relnamespace = 'indelible'::regnamespace and relname = child::name
      and inhparent = 'audit_events'::regclass)
$$;

-- Makes the partition that holds moment. Idempotent; finds one that exists without waiting for another session that makes
-- one. CREATE + ATTACH, because CREATE ... PARTITION OF would wait behind every open read. A partition that retention has
-- detached and not yet dropped comes back with its rows. Late events are also found by their receipt, at which they are
-- removed.
create function place_partition(class smallint, moment timestamptz) returns void
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
  if class = 1000 then
    execute format('create index on %I (tenant_id, received_at)', child);
  end if;
  execute format('alter table audit_events attach partition %I for values from (%s, %L) to (%s, %L)',
    child, class, first_id_at(first), class, first_id_at(bound));
end $$;

-- For recording. A writer cannot make partitions without bound: none for what the plan of the class has not kept for a year,
-- the room for a clock that was wrong, as there is in the other direction.
create function make_partition(class smallint, moment timestamptz) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if (exists (select from plans p where p.class = make_partition.class and (p.name is null
        or moment > now() - make_interval(years => p.years + 1, days => p.days)))
      and moment >= '1970-01-01 UTC' and moment < now() + interval '1 year'
      or partition_exists(partition_name(class, moment))) is not true then
    raise exception 'no event can lie in that partition' using errcode = 'invalid_parameter_value';
  end if;
  perform place_partition(class, moment);
end $$;

-- Every partition from today on, so many days ahead, so that recording never has to wait for one.
create function make_partitions_ahead(today timestamptz, days int) returns void language sql as $$
  select place_partition(class, day)
    from plans, generate_series(today, today + make_interval(days => make_partitions_ahead.days), '1 day') day
    where unit = 'day' and not retired;
  select place_partition(class, today + make_interval(months => m))
    from plans, generate_series(0, ceil(make_partitions_ahead.days / 31.0)::int) m
    where unit = 'month' and not retired;
$$;

-- What retention has detached and not yet dropped, by the moments its partitions begin at.
create function detached_partitions() returns table (class smallint, first timestamptz) language sql as $$
  select part[1]::smallint, to_date(rpad(part[2], 8, '0101'), 'YYYYMMDD')::timestamp at time zone 'UTC'
  from pg_class, regexp_match(relname, '^audit_events_(\d+)_(\d{4}(?:\d\d){0,2})$') as part
  where relnamespace = 'indelible'::regnamespace and relkind = 'r' and part is not null
    and not exists (select from pg_inherits where inhrelid = pg_class.oid)
$$;

-- A tenant that is owed more than before (a greater plan, a hold) sees at once what a retention run has detached and not yet
-- decided about: the run finds it attached, and leaves it.
create function attach_owed(former smallint, class smallint) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
begin
  if exists (select from plans p, plans f where p.class = attach_owed.class and f.class = former
      and f.name is not null and (p.name is null
        or make_interval(years => p.years, days => p.days) > make_interval(years => f.years, days => f.days))) then
    perform place_partition(d.class, d.first) from detached_partitions() d;
  end if;
end $$;

-- Other transactions that have the table of events open, and so may have planned without a later partition.
create function open_events() returns table (virtualtransaction text) language sql stable as $$
  select distinct virtualtransaction from pg_locks
  where locktype = 'relation' and granted and relation = to_regclass('indelible.audit_events')
    and database = (select oid from pg_database where datname = current_database())
    and pid is distinct from pg_backend_pid()
$$;

-- Tells all sessions once more of partitions that were attached. PostgreSQL tells them itself, but a session that is
-- collecting the partitions for a plan just then keeps the former list, and would read and write as if the new one did
-- not exist. So this waits until the transactions have ended that may be collecting, a quarter of a second at most: to
-- collect takes a millisecond. By the clock, because to look at the locks of many sessions takes longer than the pause
-- between two looks. Another caller waits for as long as this one may take. To be called after the commit of an attachment
-- and before the first row. The grant writes the row of audit_events in pg_class anew, which PostgreSQL tells all sessions:
-- a partition whose row in pg_inherits is younger than that one is not told yet. So a transaction that has written before
-- attaches in a subtransaction, which has a younger number. False if a transaction that attaches partitions goes on for so
-- long: it may be waiting for the caller.
create function announce_partitions() returns bool
language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  former text := current_setting('lock_timeout');
  collecting text[];
  until timestamptz;
begin
  if not exists (select from pg_inherits i, pg_class c where c.oid = 'audit_events'::regclass
      and inhparent = c.oid and age(i.xmin) < age(c.xmin)) then
    return true;
  end if;
  -- Who attaches has this lock until PostgreSQL has told the other sessions.
  perform set_config('lock_timeout', '500', true);
  perform pg_advisory_xact_lock(hashtext('indelible.make_partition'));
  perform set_config('lock_timeout', former, true);
  until := clock_timestamp() + interval '250 milliseconds';
  collecting := array(select virtualtransaction from open_events());
  while clock_timestamp() < until loop
    exit when not exists (select from open_events() where virtualtransaction = any (collecting));
    perform pg_sleep(0.0025);
  end loop;
  grant select on audit_events to indelible_reader;
  return true;
exception when lock_not_available then
  return false; -- with the former lock_timeout
end $$;

-- Metrics tell when retention last ran, whichever process or command ran it.
grant select (seen_at) on retention_clock to indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function make_partition, attach_owed, announce_partitions to indelible_writer;
