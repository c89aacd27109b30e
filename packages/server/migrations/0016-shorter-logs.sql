-- For `log reopen`, after which a log may be shorter than what webhooks, alerts and blocks of words have read of it: they go
-- on at its end. A message that is due, and a block, begins again where it reaches over the end: other entries come there.
create or replace function rewind_readers(tenant uuid) returns void
language plpgsql strict set search_path = indelible, pg_temp as $$
declare
  log_size bigint := (select size from log_heads where tenant_id = tenant);
  indexed bigint;
begin
  update webhooks set next_sequence = least(next_sequence, log_size), revision = revision + 1, message_id = null,
      message_type = null, message_end = null, message_at = null
    where tenant_id = tenant and greatest(next_sequence, message_end) > log_size;
  update webhooks set announced_sequence = -1 where tenant_id = tenant and announced_sequence >= log_size;
  update alert_cursors set next_sequence = log_size where tenant_id = tenant and next_sequence > log_size;
  update alert_rules set from_sequence = log_size where tenant_id = tenant and from_sequence > log_size;
  -- Waits for the worker that makes blocks.
  select size into indexed from word_heads where tenant_id = tenant for update;
  if indexed > log_size then
    delete from word_lists l using word_blocks b
      where l.tenant_id = tenant and b.tenant_id = tenant and b.first = l.first and b.first + b.entries > log_size;
    delete from word_blocks where tenant_id = tenant and first + entries > log_size;
    select coalesce(max(first + entries), 0) into indexed from word_blocks where tenant_id = tenant;
    update word_heads set size = indexed where tenant_id = tenant;
  end if;
end $$;

revoke execute on function rewind_readers from public;

-- A database of an earlier build has this column, which no process reads or writes.
alter table searches drop column if exists first_event_id;
