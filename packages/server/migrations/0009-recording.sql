-- Recording: all that a flush writes, in one call. The only way a log grows, also for a stolen login of the writer. On Citus
-- each call goes to the node of its tenant and costs much more than what it does there.

-- Inserts events, appends to the logs, and notes late events and sources. Returns the number of the events. Does nothing and
-- returns 0 if one of their ids exists, null if the log of the single tenant has grown or is locked.
--
-- Refuses to shrink, to fork or to skip: the head must still be where the caller read it, and moves over exactly the entries
-- and tiles that come with it, so that no log has a hole, a tile before its time, or an entry behind its end. Tiles come in
-- order, lower levels first.
--
-- An archive is loaded with its events first and its log later: such a call names no tenant, and no head is updated, which
-- Citus refuses without a tenant. `grown` is then the row count of the INSERT into log_tail: none.
--
-- An id that exists is found by the exception: on Citus the row count of an INSERT with ON CONFLICT does not tell. As the
-- owner, because Citus refuses this statement under row-level security.
create function record_events(home uuid,
  tenants uuid[], old_sizes bigint[], new_sizes bigint[], frontiers bytea[], received bigint[],
  entry_tenants uuid[], sequences bigint[], entries bytea[],
  tile_tenants uuid[], tile_levels smallint[], tile_indexes bigint[], tile_hashes bytea[], tile_rests bytea[],
  -- columns of audit_events, and what recorders and outboxes number
  uuid[] default '{}', uuid[] default '{}', uuid[] default '{}', text[] default '{}', text[] default '{}',
  text[] default '{}', text[] default '{}', text[] default '{}', text[] default '{}', uuid[] default '{}',
  text[] default '{}', json[] default '{}', bool[] default '{}', text[] default '{}', json[] default '{}',
  json[] default '{}', text[] default '{}', int8[] default '{}', timestamptz[] default '{}', text[] default '{}',
  uuid[] default '{}', text[] default '{}', int2[] default '{}', bytea[] default '{}', json[] default '{}',
  json[] default '{}', json[] default '{}', text[] default '{}', text[] default '{}', text[] default '{}',
  text[] default '{}', text[] default '{}', int8[] default '{}'
) returns int language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  single uuid := case cardinality(tenants) when 1 then tenants[1] end;
  old_size bigint := old_sizes[1];
  new_size bigint := new_sizes[1];
  new_frontier bytea := frontiers[1];
  received_us bigint := received[1];
  appending bool := false;
  late uuid;
  tile record;
  moved bytea;
  grown int;
begin
  -- A tile at level l covers 256^(l+1) entries. Repeats violate the primary keys below.
  if cardinality(entry_tenants) + cardinality(tile_tenants) is distinct from (
      select coalesce(sum(u.new_size - greatest(u.old_size, u.new_size >> 8 << 8)
          + (select sum((u.new_size >> 8 * l) - (u.old_size >> 8 * l)) from generate_series(1, 7) l)), 0)
      from unnest(old_sizes, new_sizes) as u(old_size, new_size))
    or exists (
      select from unnest(entry_tenants, sequences) as e(tenant_id, sequence)
      left join unnest(tenants, old_sizes, new_sizes) as u(tenant_id, old_size, new_size)
        on u.tenant_id = e.tenant_id and e.sequence >= greatest(u.old_size, u.new_size >> 8 << 8)
          and e.sequence < u.new_size
      where u.tenant_id is null)
    or exists (
      select from unnest(tile_tenants, tile_levels, tile_indexes, tile_rests) as t(tenant_id, level, index, rest)
      left join unnest(tenants, old_sizes, new_sizes) as u(tenant_id, old_size, new_size)
        on u.tenant_id = t.tenant_id and t.level between 0 and 6 and (t.level = 0 or t.rest = '')
          and t.index >= u.old_size >> 8 * (t.level + 1) and t.index < u.new_size >> 8 * (t.level + 1)
      where u.tenant_id is null)
  then
    raise exception 'an append must bring exactly what the log grows by'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  if single is not null then
    perform 1 from log_heads h where h.tenant_id = single and h.size = old_size for no key update skip locked;
    if not found then return null; end if;
  end if;
  begin
    insert into audit_events (id, tenant_id, actor_id, actor_email, actor_role, actor_ip, actor_user_agent, action,
        resource_type, resource_id, resource_name, diff, cross_tenant, reason, before, after, category, sequence,
        received_at, recorded_by_kind, recorded_by_id, actor_email_key, retention_class, salts, erased,
        context, context_identity, outcome, actor_type, correlation_id, on_behalf_of)
      select c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23,
        c24, c25, c26, c27, c28, c29, c30, c31::text[]
      from unnest($15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34,
          $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45)
        as u (c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22,
          c23, c24, c25, c26, c27, c28, c29, c30, c31);
    appending := true;
    for tile in select * from unnest(tile_tenants, tile_levels, tile_indexes, tile_hashes, tile_rests)
        as t(tenant_id, level, index, hash, rest) loop
      if tile.level = 0 then
        select coalesce(string_agg(t.entry, '' order by t.sequence), '') into moved from log_tail t
          where t.tenant_id = tile.tenant_id
            and t.sequence >= tile.index * 256 and t.sequence < (tile.index + 1) * 256;
        delete from log_tail t where t.tenant_id = tile.tenant_id
            and t.sequence >= tile.index * 256 and t.sequence < (tile.index + 1) * 256;
      else
        select string_agg(t.hash, '' order by t.index) into moved from log_tiles t
          where t.tenant_id = tile.tenant_id and t.level = tile.level - 1
            and t.index >= tile.index * 256 and t.index < (tile.index + 1) * 256;
      end if;
      moved := moved || tile.rest;
      insert into log_tiles (tenant_id, level, index, hash, data)
        values (tile.tenant_id, tile.level, tile.index, tile.hash, moved);
    end loop;
    insert into log_tail select * from unnest(entry_tenants, sequences, entries);
    if single is not null then
      update log_heads h set size = new_size, frontier = new_frontier, last_received_us = received_us
        where h.tenant_id = single and h.size = old_size and new_size > old_size and received_us >= h.last_received_us;
    elsif cardinality(tenants) > 0 then
      update log_heads h set size = u.new_size, frontier = u.frontier, last_received_us = u.received_us
        from unnest(tenants, old_sizes, new_sizes, frontiers, received)
          as u(tenant_id, old_size, new_size, frontier, received_us)
        where h.tenant_id = u.tenant_id and h.size = u.old_size
          and u.new_size > u.old_size and u.received_us >= h.last_received_us;
    end if;
    get diagnostics grown = row_count;
    if grown <> cardinality(tenants) then
      raise exception 'a log head is not where the appender read it' using errcode = 'object_not_in_prerequisite_state';
    end if;
  exception when integrity_constraint_violation or data_exception then
    if appending then
      raise exception 'a log has entries behind its end, or lacks entries of its tail: %', sqlerrm
        using errcode = 'IND03';
    elsif sqlstate = '23505' then
      return 0;
    end if;
    raise;
  end;
  if 1000 = any ($37) then
    for late in select distinct u.tenant_id from unnest($16, $37) as u(tenant_id, class) where u.class = 1000 loop
      update log_heads set other_classes = other_classes || 1000::smallint
        where tenant_id = late and 1000 <> all (other_classes);
    end loop;
  end if;
  if cardinality($46) > 0 then
    perform note_sources(array_agg(u.tenant_id), array_agg(u.source), array_agg(u.n), u.received_at)
      from unnest($16, $46, $47, $33) as u(tenant_id, source, n, received_at)
      where u.source is not null group by u.received_at;
  end if;
  return cardinality($15);
end $$;

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

revoke execute on all functions in schema indelible from public;
grant execute on function record_events, record_at_heads, take_flush_lock to indelible_writer;
