-- Processes that share a port flush one after the other, so that flushes stay large. Takes the lock of this name for
-- the transaction. False, not an error, if others have it for so many milliseconds: the flush goes on without it.
create function take_flush_lock(name text, wait_ms int) returns bool language plpgsql strict as $$
declare
  former text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', wait_ms::text, true);
  perform pg_advisory_xact_lock(hashtextextended(name, 0));
  perform set_config('lock_timeout', former, true);
  return true;
exception when lock_not_available then
  return false; -- with the former lock_timeout
end $$;
revoke execute on function take_flush_lock from public;
grant execute on function take_flush_lock to indelible_writer;
