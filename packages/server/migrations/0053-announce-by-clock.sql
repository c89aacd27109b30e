-- As before, but it waits a quarter of a second by the clock: to look at the locks of many sessions takes longer than
-- the pause between two looks. Another caller waits for as long as this one may take.
create or replace function announce_partitions() returns bool
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
