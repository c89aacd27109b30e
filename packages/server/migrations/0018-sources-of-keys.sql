-- A source belongs to the key that sends it: what another key sends under the same id is another source. So no other key can
-- fill a gap, crowd it out or have its source forgotten.

-- Of an earlier build: nil, until a key sends the next event.
alter table sources add column if not exists key_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table sources alter column key_id drop default;
alter table source_gaps add column if not exists key_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table source_gaps alter column key_id drop default;
-- When a gap that is not in the log yet was dropped, for the limit or with its source: it stays until it is told.
alter table source_gaps add column if not exists dropped_at timestamptz not null default 'infinity';
alter table source_gaps drop constraint if exists source_gaps_tenant_id_source_id_fkey;
alter table source_gaps drop constraint if exists source_gaps_pkey;
alter table source_gaps add primary key (tenant_id, key_id, source_id, first_sequence, dropped_at);
alter table sources drop constraint if exists sources_pkey;
alter table sources add primary key (tenant_id, key_id, id);

-- Takes the numbers that a flush has recorded; record_events calls it, and holds the heads of these tenants' logs, so no
-- other flush changes their sources. Bounded: 500 sources of a key, then the 50 that have been silent longest are
-- forgotten, first of those without a gap; 50 gaps of a source, then the oldest are dropped. Two processes with one source id, and a
-- source that was set back to an older backup, use numbers twice. A number that comes again with another event hides the
-- loss of one: from then on the list of gaps is not complete.
create or replace function note_sources(tenants uuid[], keys uuid[], ids text[], sequences bigint[], received timestamptz)
returns void language plpgsql set search_path = indelible, pg_temp as $$
declare
  sent record;
  known sources;
  span int8multirange; -- of the numbers known before
  received_before int8multirange;
  begins bigint; -- the first number that is expected of a new source
  others bigint;
  forgotten text[];
  lowest bigint; -- of the gaps that are kept
begin
  for sent in
    select t.tenant_id, t.key_id, t.id, range_agg(int8range(t.n, t.n, '[]')) as numbers,
      count(*) > count(distinct t.n) as repeats
    from unnest(tenants, keys, ids, sequences) as t(tenant_id, key_id, id, n)
    group by t.tenant_id, t.key_id, t.id order by t.tenant_id, t.key_id, t.id
  loop
    forgotten := null;
    select * into known from sources s
      where s.tenant_id = sent.tenant_id and s.key_id = sent.key_id and s.id = sent.id;
    if not found then
      update sources s set key_id = sent.key_id
        where s.tenant_id = sent.tenant_id and s.key_id = '00000000-0000-0000-0000-000000000000' and s.id = sent.id
        returning * into known;
      if found then
        update source_gaps g set key_id = sent.key_id
          where g.tenant_id = sent.tenant_id and g.key_id = '00000000-0000-0000-0000-000000000000' and g.source_id = sent.id;
      end if;
    end if;
    if known.id is not null then
      span := int8multirange(int8range(known.first_sequence, known.last_sequence, '[]'));
      update sources s set
          first_sequence = least(first_sequence, lower(sent.numbers)),
          last_sequence = greatest(last_sequence, upper(sent.numbers) - 1),
          last_received_at = greatest(last_received_at, received),
          longest_pause = greatest(longest_pause, received - last_received_at),
          silent_since = null
        where s.tenant_id = sent.tenant_id and s.key_id = sent.key_id and s.id = sent.id;
    else
      span := '{}';
      select count(*) into others from sources s where s.tenant_id = sent.tenant_id and s.key_id = sent.key_id;
      if others >= 500 then -- 50 at once, because the order of all takes milliseconds
        select array_agg(old.id) into forgotten
          from (select x.id from sources x where x.tenant_id = sent.tenant_id and x.key_id = sent.key_id
            order by exists (select from source_gaps g where g.tenant_id = x.tenant_id and g.key_id = x.key_id
                and g.source_id = x.id and g.dropped_at = 'infinity') desc, x.last_received_at desc, x.id offset 450) as old;
        delete from sources s
          where s.tenant_id = sent.tenant_id and s.key_id = sent.key_id and s.id = any (forgotten);
        update source_gaps g set dropped_at = received
          where g.tenant_id = sent.tenant_id and g.key_id = sent.key_id and g.source_id = any (forgotten)
            and g.dropped_at = 'infinity';
      end if;
      -- Numbers begin at 0. A key that goes on with the source of another one, which it replaces, begins behind it.
      select coalesce(max(s.last_sequence) filter (where s.last_sequence < lower(sent.numbers)) + 1,
          case when count(*) > 0 then lower(sent.numbers) else 0 end) into begins
        from sources s where s.tenant_id = sent.tenant_id and s.id = sent.id;
      -- Where sources may have been forgotten, it may be one of those and not a new one.
      insert into sources (tenant_id, key_id, id, first_sequence, last_sequence, first_received_at, last_received_at,
          gaps_dropped_at)
        values (sent.tenant_id, sent.key_id, sent.id,
          case when others < 450 then begins else lower(sent.numbers) end, upper(sent.numbers) - 1, received, received,
          case when others >= 450 then received end)
        returning * into known;
    end if;
    -- Late numbers fill gaps, wholly or in part.
    if span && sent.numbers then
      select span - coalesce(range_agg(int8range(g.first_sequence, g.last_sequence, '[]')), '{}') into received_before
        from source_gaps g where g.tenant_id = sent.tenant_id and g.key_id = sent.key_id and g.source_id = sent.id
          and g.dropped_at = 'infinity';
      sent.repeats := sent.repeats or received_before && sent.numbers;
      with filled as (
        delete from source_gaps g
          where g.tenant_id = sent.tenant_id and g.key_id = sent.key_id and g.source_id = sent.id
            and g.dropped_at = 'infinity' and int8range(g.first_sequence, g.last_sequence, '[]') && sent.numbers
          returning *
      )
      insert into source_gaps (tenant_id, key_id, source_id, first_sequence, last_sequence, after_at, noticed_at, told_at)
        select tenant_id, key_id, source_id, lower(rest), upper(rest) - 1, after_at, noticed_at, told_at
        from filled, unnest(int8multirange(int8range(first_sequence, last_sequence, '[]')) - sent.numbers) as rest;
    end if;
    -- New gaps lie between the numbers known before and those of this flush, and between the latter. What a producer lost
    -- before the first event of a new source arrived is a gap too.
    insert into source_gaps (tenant_id, key_id, source_id, first_sequence, last_sequence, after_at, noticed_at)
      select sent.tenant_id, sent.key_id, sent.id, lower(gap), upper(gap) - 1, known.last_received_at, received
      from unnest(int8multirange(int8range(least(known.first_sequence, lower(sent.numbers)),
        greatest(known.last_sequence + 1, upper(sent.numbers)))) - span - sent.numbers) as gap;
    select g.first_sequence into lowest from source_gaps g
      where g.tenant_id = sent.tenant_id and g.key_id = sent.key_id and g.source_id = sent.id and g.dropped_at = 'infinity'
      order by g.first_sequence desc offset 49 limit 1;
    if lowest is not null then
      with dropped as (
        update source_gaps g set dropped_at = received
          where g.tenant_id = sent.tenant_id and g.key_id = sent.key_id and g.source_id = sent.id
            and g.dropped_at = 'infinity' and g.first_sequence < lowest
          returning g.noticed_at
      )
      update sources s set gaps_dropped_at = greatest(gaps_dropped_at, (select max(noticed_at) from dropped))
        where s.tenant_id = sent.tenant_id and s.key_id = sent.key_id and s.id = sent.id and exists (select from dropped);
    end if;
    if lowest is not null or forgotten is not null then
      delete from source_gaps g -- what the log tells already
        where g.tenant_id = sent.tenant_id and g.key_id = sent.key_id
          and g.source_id = any (array_prepend(sent.id, forgotten)) and g.dropped_at < 'infinity' and g.told_at is not null;
    end if;
    if sent.repeats then
      update sources s set gaps_dropped_at = received
        where s.tenant_id = sent.tenant_id and s.key_id = sent.key_id and s.id = sent.id;
    end if;
  end loop;
end $$;

-- As in 0009, but that a source has a key.
create or replace function record_events(home uuid,
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
    perform note_sources(array_agg(u.tenant_id), array_agg(u.key_id), array_agg(u.source), array_agg(u.n), u.received_at)
      from unnest($16, $35, $46, $47, $33) as u(tenant_id, key_id, source, n, received_at)
      where u.source is not null group by u.received_at;
  end if;
  return cardinality($15);
end $$;

drop function if exists note_sources(uuid[], text[], bigint[], timestamptz);
revoke execute on function note_sources from public;
