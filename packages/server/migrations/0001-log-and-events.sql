-- Tenants, credentials, the verifiable log and the events it proves.
-- Runs as indelible_owner with search_path = indelible. Forward only; never edited once landed.

create table installation (
  only_row boolean primary key default true check (only_row),
  id uuid not null default gen_random_uuid()
);
insert into installation default values;

create table tenants (
  id uuid primary key,
  name text not null,
  plan text not null check (plan in ('Starter', 'Pro', 'Enterprise')),
  locale text not null default 'en',
  time_zone text not null default 'UTC',
  notify_emails text[] not null default '{}',
  restore_url text,
  restore_secret bytea, -- sealed with the session secret, never in clear
  legal_hold boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table api_keys (
  id uuid primary key,
  tenant_id uuid references tenants (id), -- null: bound to the platform
  name text not null,
  scopes text[] not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_by_tenant on api_keys (tenant_id, id);

-- The verifiable log. One row a tenant says how long its log is and what it hashes to.
-- retention_class: 0 starter, 1 pro, 2 enterprise, 3 held; new events take it, older ones may still
-- sit in other_classes until the retention job has moved them.
create table log_heads (
  tenant_id uuid primary key,
  log_id uuid not null default gen_random_uuid() unique,
  size bigint not null default 0 check (size >= 0),
  frontier bytea not null default '' check (octet_length(frontier) = 32 * bit_count(size::bit(64))),
  last_received_us bigint not null default 0,
  retention_class smallint not null check (retention_class between 0 and 3),
  other_classes smallint[] not null default '{}'
) with (fillfactor = 50);

-- Entries after the last complete tile; 256 of them become one row of log_tiles.
create table log_tail (
  tenant_id uuid not null,
  sequence bigint not null,
  entry bytea not null check (octet_length(entry) = 60),
  primary key (tenant_id, sequence)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- Level 0: 256 entries of 60 bytes. Higher levels: 256 hashes, those of the tiles below.
-- hash is the root of the tile's own subtree, so the level above never reads data.
create table log_tiles (
  tenant_id uuid not null,
  level smallint not null,
  index bigint not null,
  hash bytea not null check (octet_length(hash) = 32),
  data bytea not null check (octet_length(data) = 256 * case level when 0 then 60 else 32 end),
  primary key (tenant_id, level, index)
);
alter table log_tiles alter column data set storage external; -- hashes do not compress

-- The id is a UUIDv7 of the event's own millisecond: it identifies, orders, partitions and
-- deduplicates. JSON is kept as canonical text (json, never jsonb): what is searched is what is proven.
create table audit_events (
  tenant_id uuid not null,
  id uuid not null,
  sequence bigint not null,
  received_at timestamptz not null,
  actor_id uuid not null,
  resource_id uuid not null,
  recorded_by_id uuid not null,
  retention_class smallint not null,
  cross_tenant boolean not null,
  recorded_by_kind text not null,
  actor_email text,
  actor_email_key text collate "C" not null, -- lower case, '' for none; lower() is not leakproof
  actor_role text not null,
  actor_ip text,
  actor_user_agent text,
  action text collate "C" not null,
  resource_type text collate "C" not null,
  resource_name text,
  category text collate "C" not null,
  reason text,
  diff json not null,
  before json,
  after json,
  salts bytea not null, -- 16 bytes a segment: change, event, identity, and state when stored
  primary key (tenant_id, retention_class, id)
) partition by range (retention_class, id);

create index audit_events_by_actor on audit_events (tenant_id, actor_id, id);
create index audit_events_by_email on audit_events (tenant_id, actor_email_key, id);
create index audit_events_by_action on audit_events (tenant_id, action, id);
create index audit_events_by_resource_type on audit_events (tenant_id, resource_type, id);
create index audit_events_by_resource on audit_events (tenant_id, resource_id, id);
create index audit_events_by_category on audit_events (tenant_id, category, id);
create index audit_events_cross_tenant on audit_events (tenant_id, id) where cross_tenant;

-- The first possible id of a moment: a UUIDv7 starts with 48 bits of milliseconds.
create function first_id_at(moment timestamptz) returns uuid language sql immutable as $$
  select (rpad(lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0'))::uuid
$$;

-- Makes the partition that holds moment: daily for starter, monthly for the others. Idempotent;
-- CREATE + ATTACH, because CREATE ... PARTITION OF would wait behind every open read.
create function make_partition(class smallint, moment timestamptz) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  unit text := case class when 0 then 'day' else 'month' end;
  first timestamptz := date_trunc(unit, moment, 'UTC');
  bound timestamptz := (first at time zone 'UTC' + ('1 ' || unit)::interval) at time zone 'UTC';
  child text := format('audit_events_%s_%s', (array['starter', 'pro', 'enterprise', 'held'])[class + 1],
    to_char(first at time zone 'UTC', case class when 0 then 'YYYYMMDD' else 'YYYYMM' end));
begin
  if (class between 0 and 3 and moment >= '1970-01-01 UTC' and moment < now() + interval '1 year') is not true then
    raise exception 'no event can lie in that partition' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtext('indelible.make_partition'));
  if exists (select from pg_inherits where inhparent = 'audit_events'::regclass
      and inhrelid = to_regclass('indelible.' || child)) then
    return;
  end if;
  execute format('create table if not exists %I (like audit_events including all)', child);
  execute format('alter table audit_events attach partition %I for values from (%s, %L) to (%s, %L)',
    child, class, first_id_at(first), class, first_id_at(bound));
end $$;

-- Every partition from today to three months ahead, so that recording never has to wait for one.
create function make_partitions_ahead(today timestamptz) returns void language sql as $$
  select make_partition(0::smallint, day) from generate_series(today, today + interval '92 days', '1 day') day;
  select make_partition(class::smallint, today + make_interval(months => m))
    from generate_series(1, 2) class, generate_series(0, 3) m;
$$;

-- Locks the heads of these tenants. Without wait, heads another flush holds are skipped, so that
-- one busy tenant never stalls the others; callers lock in one order, so no two flushes deadlock.
create function lock_heads(tenants uuid[], wait boolean) returns setof log_heads
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if wait then
    return query select * from log_heads h where h.tenant_id = any (tenants)
      order by h.tenant_id for no key update;
  else
    return query select * from log_heads h where h.tenant_id = any (tenants)
      order by h.tenant_id for no key update skip locked;
  end if;
end $$;

-- The only way a log grows, whoever holds the writer's login. Refuses to shrink, to fork or to skip: the
-- head must still be where the caller read it, and moves over exactly the entries and tiles that come
-- with it, so that no log has a hole, a tile before its time, or an entry behind its end.
-- Tiles come in order, lower levels first.
create function append_log(
  tenants uuid[], old_sizes bigint[], new_sizes bigint[], frontiers bytea[], received bigint[],
  entry_tenants uuid[], sequences bigint[], entries bytea[],
  tile_tenants uuid[], tile_levels smallint[], tile_indexes bigint[], tile_hashes bytea[], tile_rests bytea[]
) returns void language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  moved bytea;
  tile int;
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
  for tile in 1 .. cardinality(tile_tenants) loop
    if tile_levels[tile] = 0 then
      with gone as (
        delete from log_tail t where t.tenant_id = tile_tenants[tile]
          and t.sequence >= tile_indexes[tile] * 256 and t.sequence < (tile_indexes[tile] + 1) * 256
        returning t.sequence, t.entry
      ) select coalesce(string_agg(gone.entry, '' order by gone.sequence), '') into moved from gone;
    else
      select string_agg(t.hash, '' order by t.index) into moved from log_tiles t
        where t.tenant_id = tile_tenants[tile] and t.level = tile_levels[tile] - 1
          and t.index >= tile_indexes[tile] * 256 and t.index < (tile_indexes[tile] + 1) * 256;
    end if;
    insert into log_tiles values
      (tile_tenants[tile], tile_levels[tile], tile_indexes[tile], tile_hashes[tile], moved || tile_rests[tile]);
  end loop;
  insert into log_tail select * from unnest(entry_tenants, sequences, entries);
  update log_heads h set size = u.new_size, frontier = u.frontier, last_received_us = u.received_us
    from unnest(tenants, old_sizes, new_sizes, frontiers, received)
      as u(tenant_id, old_size, new_size, frontier, received_us)
    where h.tenant_id = u.tenant_id and h.size = u.old_size
      and u.new_size > u.old_size and u.received_us >= h.last_received_us;
  get diagnostics tile = row_count;
  if tile <> cardinality(tenants) then
    raise exception 'a log head is not where the appender read it' using errcode = 'object_not_in_prerequisite_state';
  end if;
end $$;

-- A tenant's log begins with its row here; a plan change moves new events to another class.
create function open_log(tenant uuid, class smallint) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  insert into log_heads (tenant_id, retention_class) values (tenant, class)
  on conflict (tenant_id) do update set retention_class = excluded.retention_class,
    other_classes = (select array_agg(distinct c order by c)
      from unnest(log_heads.other_classes || log_heads.retention_class) c where c <> excluded.retention_class)
    where log_heads.retention_class <> excluded.retention_class
$$;

alter table tenants enable row level security;
alter table audit_events enable row level security;
alter table log_heads enable row level security;
alter table log_tail enable row level security;
alter table log_tiles enable row level security;

create policy tenant_only on tenants for select to indelible_reader
  using (id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on audit_events for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on log_heads for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on log_tail for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on log_tiles for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- The flush writes for many tenants at once, and tenants are administered: the named exceptions.
create policy any_tenant on tenants to indelible_writer using (true) with check (true);
create policy any_tenant on audit_events for insert to indelible_writer with check (true);
create policy any_tenant_lookup on audit_events for select to indelible_writer using (true);
create policy any_tenant on log_heads for select to indelible_writer using (true);

grant usage on schema indelible to indelible_writer, indelible_reader;
grant select on audit_events, log_heads, log_tail, log_tiles, tenants, installation to indelible_reader;
grant insert, select on audit_events to indelible_writer;
grant select on log_heads, installation to indelible_writer;
grant select, insert, update on tenants to indelible_writer;
grant select, insert on api_keys to indelible_writer;
grant update (revoked_at) on api_keys to indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function lock_heads, append_log, open_log, make_partition to indelible_writer;
