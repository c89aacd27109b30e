-- Signed checkpoints: what was published of each log, in which round, by which key.

alter table installation add column log_origin text; -- host part of every origin; set once

-- Who signed when. A key that is taken up again begins another window; windows never overlap.
create table signing_keys (
  public_key bytea not null check (octet_length(public_key) = 32),
  not_before timestamptz not null,
  not_after timestamptz check (not_after > not_before),
  announced boolean not null, -- recorded in every log; the first key needs no announcement
  primary key (public_key, not_before)
);
create unique index signing_key_in_use on signing_keys ((not_after is null)) where not_after is null;

-- One row: the last round whose checkpoints are in the object store, and why signing and recording
-- stand still, if they do.
create table log_rounds (
  only_row boolean primary key default true check (only_row),
  round bigint not null default 0,
  halted text
);
insert into log_rounds default values;

-- The last published checkpoint of each log.
create table log_checkpoints (
  tenant_id uuid primary key,
  log_id uuid not null,
  size bigint not null,
  root bytea not null check (octet_length(root) = 32),
  note text not null,
  round bigint not null,
  signed_at timestamptz not null
);

-- Recording asks here first: a service that has met its own future must not write over it.
create or replace function lock_heads(tenants uuid[], wait boolean) returns setof log_heads
language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  reason text;
begin
  select halted into reason from log_rounds;
  if reason is not null then
    raise exception '%', reason using errcode = 'IND01';
  end if;
  if wait then
    return query select * from log_heads h where h.tenant_id = any (tenants)
      order by h.tenant_id for no key update;
  else
    return query select * from log_heads h where h.tenant_id = any (tenants)
      order by h.tenant_id for no key update skip locked;
  end if;
end $$;

-- Takes the round for this transaction. Without wait, returns nothing when another process has it.
create function take_round(wait boolean) returns setof log_rounds
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if wait then
    return query select * from log_rounds for update;
  else
    return query select * from log_rounds for update skip locked;
  end if;
end $$;

-- Releases the checkpoints of a round that is in the object store. A log's size never shrinks; a log
-- that was reopened begins again under its new id.
create function publish_round(
  this_round bigint, tenants uuid[], log_ids uuid[], sizes bigint[], roots bytea[], notes text[], at timestamptz
) returns void language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  update log_rounds set round = this_round where round = this_round - 1;
  if not found then
    raise exception 'round % does not follow the last one', this_round using errcode = 'object_not_in_prerequisite_state';
  end if;
  insert into log_checkpoints
    select u.tenant_id, u.log_id, u.size, u.root, u.note, this_round, at
    from unnest(tenants, log_ids, sizes, roots, notes) as u(tenant_id, log_id, size, root, note)
    on conflict (tenant_id) do update set log_id = excluded.log_id, size = excluded.size,
      root = excluded.root, note = excluded.note, round = excluded.round, signed_at = excluded.signed_at
      where log_checkpoints.log_id <> excluded.log_id or log_checkpoints.size <= excluded.size;
end $$;

create function halt_log(reason text) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  update log_rounds set halted = reason where halted is null
$$;

-- The first serving process names the host of the origins; later ones read what it set.
create function open_origin(host text) returns text
language sql security definer set search_path = indelible, pg_temp as $$
  update installation set log_origin = coalesce(log_origin, host) returning log_origin
$$;

-- Makes this key the one in use: the one before it ends when this one begins, and never while a round
-- is being signed. Returns when it began, and whether the logs have yet to be told.
create function use_signing_key(key bytea, at timestamptz, out began timestamptz, out unannounced boolean)
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  perform from log_rounds for update;
  if not exists (select from signing_keys where public_key = key and not_after is null) then
    -- Behind every window there is, though the clock of this machine may be behind another's.
    select greatest(at, max(not_before) + interval '1 millisecond') into began from signing_keys;
    unannounced := exists (select from signing_keys);
    update signing_keys set not_after = began where not_after is null;
    insert into signing_keys values (key, began, null, not unannounced);
  end if;
  select not_before, not announced into began, unannounced from signing_keys
    where public_key = key and not_after is null;
end $$;

create function signing_key_announced(key bytea) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  update signing_keys set announced = true where public_key = key and not_after is null
$$;

alter table log_checkpoints enable row level security;
create policy tenant_only on log_checkpoints for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on log_checkpoints for select to indelible_writer using (true);
-- A round compares what it signs with what it signed before, log by log.
create policy any_tenant on log_tail for select to indelible_writer using (true);
create policy any_tenant on log_tiles for select to indelible_writer using (true);

grant select on log_checkpoints, signing_keys, log_rounds to indelible_reader, indelible_writer;
grant select on log_tail, log_tiles to indelible_writer;

revoke execute on function take_round, publish_round, halt_log, open_origin, use_signing_key,
  signing_key_announced from public;
grant execute on function take_round, publish_round, halt_log, open_origin, use_signing_key,
  signing_key_announced to indelible_writer;
