-- Recording, with named columns: all that a flush writes, in one call. The only way a log grows, also for a stolen login of
-- the writer. PostgreSQL takes all tenants of a flush at once, Citus one. The former functions stay for processes of the
-- release before, which record during an upgrade; no process of this one calls them.

-- Inserts events, appends to the logs whose heads the caller has locked, and notes late events and sources. Returns the
-- number of the events. Does nothing and returns 0 if one of their ids exists.
--
-- `events` are rows of audit_events, by the names of its columns. An archive is loaded with its events first and its log
-- later: such a call names no log. `late` are the tenants of events in class 1000. `numbers` are those that sources gave.
--
-- Refuses to shrink, to fork or to skip: the head must still be where the caller read it, and moves over exactly the entries
-- and tiles that come with it, so that no log has a hole, a tile before its time, or an entry behind its end. Tiles come in
-- order, lower levels first. `tail` has the entries after the last complete tile, 60 bytes each.
--
-- An id that exists is found by the exception: on Citus the row count of an INSERT with ON CONFLICT does not tell. As the
-- owner, because Citus refuses this statement under row-level security.
create or replace function append_events(home uuid, logs json, tiles json, events json, late uuid[], numbers json)
returns int language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  log record;
  tile record;
  moved bytea;
  stored int;
  appending bool := false;
begin
  -- A tile at level l covers 256^(l+1) entries. Repeats violate the primary keys below.
  if exists (
      select from json_to_recordset(logs) as l(old_size bigint, new_size bigint, tail bytea)
      where octet_length(l.tail) is distinct from 60 * (l.new_size - greatest(l.old_size, l.new_size >> 8 << 8)))
    or json_array_length(tiles) is distinct from (
      select coalesce(sum((l.new_size >> 8 * level) - (l.old_size >> 8 * level)), 0)
      from json_to_recordset(logs) as l(old_size bigint, new_size bigint), generate_series(1, 7) as level)
    or json_array_length(tiles) > 0 and exists (
      select from json_to_recordset(tiles) as t(tenant_id uuid, level int, index bigint, rest bytea)
      left join json_to_recordset(logs) as l(tenant_id uuid, old_size bigint, new_size bigint)
        on l.tenant_id = t.tenant_id and t.level between 0 and 6 and (t.level = 0 or t.rest = '')
          and t.index >= l.old_size >> 8 * (t.level + 1) and t.index < l.new_size >> 8 * (t.level + 1)
      where l.tenant_id is null)
  then
    raise exception 'an append must bring exactly what the log grows by'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  begin
    insert into audit_events select * from json_populate_recordset(null::audit_events, events);
    get diagnostics stored = row_count;
    appending := true;
    for tile in select * from json_to_recordset(tiles)
        as t(tenant_id uuid, level smallint, index bigint, hash bytea, rest bytea) loop
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
    insert into log_tail (tenant_id, sequence, entry)
      select l.tenant_id, l.new_size - octet_length(l.tail) / 60 + n, substr(l.tail, 60 * n + 1, 60)
      from json_to_recordset(logs) as l(tenant_id uuid, new_size bigint, tail bytea),
        generate_series(0, octet_length(l.tail) / 60 - 1) as n;
    for log in select * from json_to_recordset(logs)
        as l(tenant_id uuid, old_size bigint, new_size bigint, frontier bytea, received_us bigint) loop
      update log_heads h set size = log.new_size, frontier = log.frontier, last_received_us = log.received_us
        where h.tenant_id = log.tenant_id and h.size = log.old_size
          and log.new_size > log.old_size and log.received_us >= h.last_received_us;
      if not found then
        raise exception 'a log head is not where the appender read it' using errcode = 'object_not_in_prerequisite_state';
      end if;
    end loop;
  exception when integrity_constraint_violation or data_exception then
    if appending then
      raise exception 'a log has entries behind its end, or lacks entries of its tail: %', sqlerrm
        using errcode = 'IND03';
    elsif sqlstate = '23505' then
      return 0;
    end if;
    raise;
  end;
  foreach home in array late loop
    update log_heads set other_classes = other_classes || 1000::smallint
      where tenant_id = home and 1000 <> all (other_classes);
  end loop;
  if json_array_length(numbers) > 0 then
    perform note_sources(array_agg(n.tenant_id), array_agg(n.key_id), array_agg(n.id), array_agg(n.sequence), n.received_at)
      from json_to_recordset(numbers)
        as n(tenant_id uuid, key_id uuid, id text, sequence bigint, received_at timestamptz) group by n.received_at;
  end if;
  return stored;
end $$;

revoke execute on function append_events from public;
grant execute on function append_events to indelible_writer;
