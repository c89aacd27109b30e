-- PostgreSQL sharded by tenant (Citus): what writes to logs takes one of its tenants first. Citus then runs it on
-- the node of that tenant, for that tenant alone; PostgreSQL runs it for all tenants of a flush at once.
-- STRICT, because Citus crashes on a null tenant. No statement on a table subscripts an array: Citus crashes on
-- that too. `single` is the tenant where there is one: Citus needs a value to know the node.

-- Tenants are never deleted, and tables that are not distributed cannot reference them.
do $$ declare
  found record;
begin
  for found in select conrelid::regclass as child, conname from pg_constraint
      where contype = 'f' and confrelid = 'tenants'::regclass loop
    execute format('alter table %s drop constraint %I', found.child, found.conname);
  end loop;
end $$;
alter table log_heads drop constraint log_heads_log_id_key;
create index log_heads_by_log_id on log_heads (log_id);

-- `log reopen` calls it, in place of triggers: the log may be shorter than before.
create function rewind_readers(tenant uuid) returns void
language plpgsql strict set search_path = indelible, pg_temp as $$
declare
  log_size bigint := (select size from log_heads where tenant_id = tenant);
begin
  update webhooks set next_sequence = log_size, revision = revision + 1, message_id = null,
      message_type = null, message_end = null, message_at = null
    where tenant_id = tenant and next_sequence > log_size;
  update webhooks set announced_sequence = -1 where tenant_id = tenant and announced_sequence >= log_size;
  update alert_cursors set next_sequence = log_size where tenant_id = tenant and next_sequence > log_size;
  update alert_rules set from_sequence = log_size where tenant_id = tenant and from_sequence > log_size;
end $$;
drop trigger rewind_webhooks on log_heads;
drop trigger rewind_alerts on log_heads;
drop function rewind_webhooks, rewind_alerts;

-- Locks the heads of these tenants. Without wait, skips heads that another flush holds. Callers look first
-- whether recording is stopped. Distributing log_heads drops the functions that return its rows as such.
create function lock_heads(home uuid, tenants uuid[], wait boolean) returns table (
  tenant_id uuid, size bigint, frontier bytea, last_received_us bigint, retention_class smallint,
  other_classes smallint[], closed_at timestamptz
)
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  single uuid := case cardinality(tenants) when 1 then tenants[1] end;
begin
  if single is not null and wait then
    return query select h.tenant_id, h.size, h.frontier, h.last_received_us, h.retention_class, h.other_classes,
        h.closed_at
      from log_heads h where h.tenant_id = single for no key update;
  elsif single is not null then
    return query select h.tenant_id, h.size, h.frontier, h.last_received_us, h.retention_class, h.other_classes,
        h.closed_at
      from log_heads h where h.tenant_id = single for no key update skip locked;
  elsif wait then
    return query select h.tenant_id, h.size, h.frontier, h.last_received_us, h.retention_class, h.other_classes,
        h.closed_at
      from log_heads h where h.tenant_id = any (tenants)
      order by h.tenant_id for no key update;
  else
    return query select h.tenant_id, h.size, h.frontier, h.last_received_us, h.retention_class, h.other_classes,
        h.closed_at
      from log_heads h where h.tenant_id = any (tenants)
      order by h.tenant_id for no key update skip locked;
  end if;
end $$;

-- Inserts events, all or none: 0 if one of their ids exists. The number of rows of an INSERT with ON CONFLICT
-- says nothing on Citus. As the owner, because Citus refuses this statement under row-level security.
create function insert_events(home uuid,
  uuid[], uuid[], uuid[], text[], text[], text[], text[], text[], text[], uuid[], text[], json[], bool[], text[],
  json[], json[], text[], int8[], timestamptz[], text[], uuid[], text[], int2[], bytea[], json[],
  json[], json[], text[], text[], text[], text[]
) returns int language plpgsql strict security definer set search_path = indelible, pg_temp as $$
begin
  insert into audit_events (id, tenant_id, actor_id, actor_email, actor_role, actor_ip, actor_user_agent, action,
      resource_type, resource_id, resource_name, diff, cross_tenant, reason, before, after, category, sequence,
      received_at, recorded_by_kind, recorded_by_id, actor_email_key, retention_class, salts, erased,
      context, context_identity, outcome, actor_type, correlation_id, on_behalf_of)
    select c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23,
      c24, c25, c26, c27, c28, c29, c30, c31::text[]
    from unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
        $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)
      as u (c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22,
        c23, c24, c25, c26, c27, c28, c29, c30, c31);
  return cardinality($2);
exception when unique_violation then
  return 0;
end $$;

-- As append_log without `home`.
create function append_log(home uuid,
  tenants uuid[], old_sizes bigint[], new_sizes bigint[], frontiers bytea[], received bigint[],
  entry_tenants uuid[], sequences bigint[], entries bytea[],
  tile_tenants uuid[], tile_levels smallint[], tile_indexes bigint[], tile_hashes bytea[], tile_rests bytea[]
) returns int language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  single uuid := case cardinality(tenants) when 1 then tenants[1] end;
  old_size bigint := old_sizes[1];
  new_size bigint := new_sizes[1];
  new_frontier bytea := frontiers[1];
  received_us bigint := received[1];
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
  else
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
  return grown;
end $$;

-- As keep_late without `home`.
create function keep_late(home uuid, tenants uuid[]) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  late uuid;
begin
  foreach late in array tenants loop
    update log_heads set other_classes = other_classes || 1000::smallint
      where tenant_id = late and 1000 <> all (other_classes);
  end loop;
end $$;

-- As note_sources without `home`.
create function note_sources(home uuid, tenants uuid[], ids text[], sequences bigint[], received timestamptz)
returns void language sql strict security definer set search_path = indelible, pg_temp as $$
  select note_sources(tenants, ids, sequences, received)
$$;

-- open_log in three parts, because locks and partitions are the coordinator's. This part excludes a change of
-- plans, and the retention job's look at them, until the transaction ends.
create function hold_plans() returns void
language sql security definer set search_path = indelible, pg_temp as $$
  select pg_advisory_xact_lock_shared(hashtext('indelible.plans'))
$$;

-- Begins a tenant's log, or moves its new events to another class. Returns the former class, null for a new log.
create function open_log(tenant uuid, class smallint, new_log_id uuid) returns smallint
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  former smallint;
  others smallint[];
begin
  select h.retention_class, h.other_classes into former, others
    from log_heads h where h.tenant_id = tenant for no key update;
  if former is null then
    if exists (select 1 from log_tail t where t.tenant_id = tenant)
      or exists (select 1 from log_tiles t where t.tenant_id = tenant)
      or exists (select 1 from log_checkpoints t where t.tenant_id = tenant) then
      raise exception 'the log has no head' using errcode = 'IND02';
    end if;
    insert into log_heads (tenant_id, log_id, retention_class) values (tenant, new_log_id, class);
  elsif former <> class then
    others := (select array_agg(distinct c order by c) from unnest(others || former) c where c <> class);
    update log_heads h set retention_class = class, other_classes = others where h.tenant_id = tenant;
  end if;
  return former;
end $$;

-- A tenant that is owed more than before sees at once what retention has detached and not yet dropped.
create function attach_owed(former smallint, class smallint) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
begin
  if exists (select from plans p, plans f where p.class = attach_owed.class and f.class = former
      and f.name is not null and (p.name is null
        or make_interval(years => p.years, days => p.days) > make_interval(years => f.years, days => f.days))) then
    perform place_partition(d.class, d.first) from detached_partitions() d;
  end if;
end $$;

-- As its owner: on Citus the connection of another role to a node would not see what the owner's has written.
create function released_state() returns bytea
language sql security definer set search_path = indelible, pg_temp as $$
  select sha256(coalesce(string_agg(uuid_send(log_id) || int8send(size) || root
      || sha256(convert_to(note, 'UTF8')), ''::bytea order by log_id), ''::bytea)) from log_checkpoints
$$;

do $$ declare
  name text;
begin
  foreach name in array '{lock_heads,insert_events,append_log,keep_late,note_sources,open_log}'::text[] loop
    execute (select format('revoke execute on function %s from public; grant execute on function %1$s to indelible_writer',
        oid::regprocedure) from pg_proc where pronamespace = 'indelible'::regnamespace and proname = name
        and proargnames[1] in ('home', 'tenant') and proisstrict);
  end loop;
end $$;
revoke execute on function rewind_readers, hold_plans, attach_owed, released_state from public;
grant execute on function hold_plans, attach_owed, released_state to indelible_writer;
