-- Closes the log of a tenant that only a failed import has filled. The serving login may not change a head by itself.
create or replace function close_log(tenant uuid, moment timestamptz) returns void
language sql strict security definer set search_path = indelible, pg_temp as $$
  update log_heads set closed_at = moment where tenant_id = tenant and closed_at is null;
$$;

revoke execute on function close_log from public;
grant execute on function close_log to indelible_writer;
