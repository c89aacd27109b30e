-- Which of these keys are unknown, revoked or expired at this moment.
create function invalid_keys(ids uuid[], moment timestamptz) returns setof uuid language sql stable as $$
  select wanted.id from unnest(ids) as wanted (id) left join api_keys as known on known.id = wanted.id
    where known.id is null or known.revoked_at is not null or known.expires_at <= moment
$$;

-- record_events for heads that are not locked: the caller remembers them from its last flush, so a
-- flush is one round trip. Locks them, and does nothing and returns null unless all are as the caller says, recording
-- goes on, and the keys are valid. Compares the frontiers, too: a restored database may have grown to the same size.
-- Skips locked heads instead of waiting for them. For no cluster, where a call is for one tenant; so it takes none first.
create function record_at_heads(
  head_frontiers bytea[], head_received bigint[], head_classes smallint[], keys uuid[], moment timestamptz,
  -- the parameters of record_events
  home uuid, tenants uuid[], old_sizes bigint[], new_sizes bigint[], frontiers bytea[], received bigint[],
  uuid[], bigint[], bytea[],
  uuid[], smallint[], bigint[], bytea[], bytea[],
  uuid[], uuid[], uuid[], text[], text[],
  text[], text[], text[], text[], uuid[],
  text[], json[], bool[], text[], json[],
  json[], text[], int8[], timestamptz[], text[],
  uuid[], text[], int2[], bytea[], json[],
  json[], json[], text[], text[], text[],
  text[], text[], int8[]
) returns int language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  held int;
begin
  perform 1 from log_heads h
    join unnest(tenants, old_sizes, head_frontiers, head_received, head_classes)
      as head (tenant_id, size, frontier, last_received_us, retention_class) on head.tenant_id = h.tenant_id
    where h.size = head.size and h.frontier = head.frontier and h.last_received_us = head.last_received_us
      and h.retention_class = head.retention_class and h.other_classes <@ '{1000}' and h.closed_at is null
    order by h.tenant_id for no key update of h skip locked;
  get diagnostics held = row_count;
  -- After the heads: the transaction that revokes a key appends to a log.
  if held <> cardinality(tenants) or exists (select from log_rounds where halted is not null)
    or exists (select from invalid_keys(keys, moment))
  then
    return null;
  end if;
  return record_events(home, tenants, old_sizes, new_sizes, frontiers, received,
    $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34,
    $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52);
end $$;

do $$ declare
  made text;
begin
  for made in select oid::regprocedure from pg_proc where pronamespace = 'indelible'::regnamespace
      and proname in ('invalid_keys', 'record_at_heads') loop
    execute format('revoke execute on function %s from public; grant execute on function %1$s to indelible_writer', made);
  end loop;
end $$;
