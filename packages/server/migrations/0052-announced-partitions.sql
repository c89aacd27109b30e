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
-- collect takes a millisecond. To be called after the commit of an attachment and before the first row. Each grant tells
-- all sessions; a partition that was attached after the last one is not told yet. False if a transaction that attaches
-- partitions goes on for so long: it may be waiting for the caller.
create function announce_partitions() returns bool
language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  former text := current_setting('lock_timeout');
  collecting text[];
begin
  if not exists (select from pg_inherits i, pg_class c where c.oid = 'audit_events'::regclass
      and inhparent = c.oid and age(i.xmin) < age(c.xmin)) then
    return true;
  end if;
  -- Who attaches has this lock until PostgreSQL has told the other sessions.
  perform set_config('lock_timeout', '250', true);
  perform pg_advisory_xact_lock(hashtext('indelible.make_partition'));
  perform set_config('lock_timeout', former, true);
  collecting := array(select virtualtransaction from open_events());
  for attempt in 1 .. 100 loop
    exit when not exists (select from open_events() where virtualtransaction = any (collecting));
    perform pg_sleep(0.0025);
  end loop;
  grant select on audit_events to indelible_reader;
  return true;
exception when lock_not_available then
  return false; -- with the former lock_timeout
end $$;

revoke execute on function announce_partitions, open_events from public;
grant execute on function announce_partitions to indelible_writer;
