-- The installation: its identity, its keys and its processes; and the signed checkpoints of its logs: what was published of
-- each, in which round, by which key.

create table installation (
  only_row boolean primary key default true check (only_row),
  id uuid not null default gen_random_uuid(),
  log_origin text, -- host part of every origin; set once
  -- What `installation.json` in the object store says; null until a process has served. A store that is not the
  -- installation's own is refused.
  store_id uuid,
  digests_until timestamptz -- as that of tenants, for the operator's digest
);
insert into installation default values;

-- A key of the installation's own, which no rotation replaces. It signs every round beside the signing key, so that a
-- backup from before a rotation still knows later rounds as those of its installation.
create table installation_key (
  only_row boolean primary key default true check (only_row),
  seed bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);
insert into installation_key default values;

-- The processes that serve: what must be the same in all of them is compared.
create table processes (
  id uuid primary key,
  seen_at timestamptz not null, -- every ten seconds; a row is dropped a minute after the last time
  is_worker boolean not null,
  session_secret bytea not null, -- derived from it; nothing leads back
  signing_key bytea not null, -- the public key
  clock_ahead_ms bigint not null -- of its machine's clock, against this server's
);

-- Who signed when. A key that is taken up again begins another window; windows never overlap.
create table signing_keys (
  public_key bytea not null check (octet_length(public_key) = 32),
  not_before timestamptz not null,
  not_after timestamptz check (not_after > not_before),
  announced boolean not null, -- recorded in every log; the first key needs no announcement
  primary key (public_key, not_before)
);
create unique index signing_key_in_use on signing_keys ((not_after is null)) where not_after is null;

-- One row: the last round whose checkpoints are in the object store.
create table log_rounds (
  only_row boolean primary key default true check (only_row),
  round bigint not null default 0,
  halted text, -- why signing and recording stand still
  alarm text -- what is wrong with the object store, the first finding; null once the logs were reopened
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

-- The first serving process names the host of the origins; later ones read what it set.
create function open_origin(host text) returns text
language sql security definer set search_path = indelible, pg_temp as $$
  update installation set log_origin = coalesce(log_origin, host) returning log_origin
$$;

-- The same for the identity in the object store.
create function open_store_id(wanted uuid) returns uuid
language sql security definer set search_path = indelible, pg_temp as $$
  update installation set store_id = coalesce(store_id, wanted) returning store_id
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

-- Releases the checkpoints of a round that is in the object store. A round may leave numbers out: those whose object another
-- writer has made. A log's size never shrinks; a log that was reopened begins again under its new id.
create function publish_round(
  this_round bigint, tenants uuid[], log_ids uuid[], sizes bigint[], roots bytea[], notes text[], at timestamptz
) returns void language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  update log_rounds set round = this_round where round < this_round;
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

-- A hash of all published checkpoints. As its owner: on Citus the connection of another role to a node would not see what
-- the owner's has written.
create function released_state() returns bytea
language sql security definer set search_path = indelible, pg_temp as $$
  select sha256(coalesce(string_agg(uuid_send(log_id) || int8send(size) || root
      || sha256(convert_to(note, 'UTF8')), ''::bytea order by log_id), ''::bytea)) from log_checkpoints
$$;

create function halt_log(reason text) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  update log_rounds set halted = reason where halted is null
$$;

create function note_alarm(sentence text) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  update log_rounds set alarm = sentence where alarm is null
$$;

alter table processes enable row level security;
alter table log_checkpoints enable row level security;
create policy any_process on processes to indelible_writer using (true) with check (true);
create policy tenant_only on log_checkpoints for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on log_checkpoints for select to indelible_writer using (true);

grant select on installation, signing_keys, log_rounds, log_checkpoints to indelible_reader, indelible_writer;
grant update (digests_until) on installation to indelible_writer;
grant select on installation_key to indelible_writer;
grant select, insert, update, delete on processes to indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function open_origin, open_store_id, use_signing_key, signing_key_announced, take_round, publish_round,
  released_state, halt_log, note_alarm to indelible_writer;
