-- The verifiable logs. No serving role writes these tables: a log begins with open_log, and grows by record_events alone.
--
-- PostgreSQL may be sharded by tenant (Citus): what writes to logs takes one of its tenants first, as `home` or `tenant`.
-- Citus then runs it on the node of that tenant, for that tenant alone; PostgreSQL runs it for all tenants of a flush at
-- once. STRICT, because Citus crashes on a null tenant. No statement on a table subscripts an array: Citus crashes on that
-- too. `single` is the tenant where there is one: Citus needs a value to know the node.

-- One row a tenant says how long its log is and what it hashes to. New events take retention_class, older ones may still be
-- in other_classes until the retention job has moved them; late ones are in class 1000.
create table log_heads (
  tenant_id uuid primary key,
  log_id uuid not null default gen_random_uuid(),
  size bigint not null default 0 check (size >= 0),
  frontier bytea not null default '' check (octet_length(frontier) = 32 * bit_count(size::bit(64))),
  last_received_us bigint not null default 0,
  retention_class smallint not null references plans,
  other_classes smallint[] not null default '{}',
  closed_at timestamptz -- of a tenant that has left: the log takes only what the service records itself
) with (fillfactor = 50);
create index log_heads_by_log_id on log_heads (log_id);

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

-- Locks the heads of these tenants. Without wait, skips heads that another flush holds, so that one busy tenant never stalls
-- the others. Always in the order of tenants, so no two flushes deadlock. Callers look first whether recording is stopped.
-- It names the columns: when log_heads is distributed, functions that return its row type are dropped.
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

-- Begins a tenant's log, or moves its new events to another class. Returns the former class, null for a new log. A log that
-- has lost its head is not begun once more beside its own entries. The caller calls hold_plans before and attach_owed after
-- it: this runs on the tenant's node, and locks and partitions are the coordinator's.
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

alter table log_heads enable row level security;
alter table log_tail enable row level security;
alter table log_tiles enable row level security;
create policy tenant_only on log_heads for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on log_tail for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on log_tiles for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- A flush writes for many tenants at once, and a round compares what it signs with what it signed before, log by log.
create policy any_tenant on log_heads for select to indelible_writer using (true);
create policy any_tenant on log_tail for select to indelible_writer using (true);
create policy any_tenant on log_tiles for select to indelible_writer using (true);

grant select on log_heads, log_tail, log_tiles to indelible_reader, indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function lock_heads, open_log to indelible_writer;
