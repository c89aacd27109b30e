-- Who may call: API keys, one-time viewer links to the panel, and the sessions of browsers. Of the secrets only hashes are
-- stored. Only the writer role has these tables: they are looked up before any tenant is known, and no read of a tenant's
-- data needs them.

create table api_keys (
  id uuid primary key,
  tenant_id uuid, -- null: bound to the platform
  name text not null,
  scopes text[] not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Which key made this one, as {"kind": "platform" | "tenant", "id": uuid}; null: not written down.
  made_by jsonb,
  allowed_ips text[],
  last_used_at timestamptz
);
create index api_keys_by_tenant on api_keys (tenant_id, id);

-- A link hands on no scope that its maker lacks; scopes null: all that a person may have.
create table viewer_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id uuid not null,
  tenant_id uuid not null,
  actor_id uuid not null,
  actor_email text,
  actor_role text not null check (actor_role in ('admin', 'superadmin')),
  reason text check ((reason is null) = (actor_role = 'admin')),
  path text,
  expires_at timestamptz not null,
  opened_by jsonb, -- as made_by of keys
  scopes text[]
);
create index viewer_links_by_expiry on viewer_links (expires_at);

create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id uuid not null,
  tenant_id uuid not null,
  actor_id uuid not null,
  actor_email text,
  actor_role text not null check (actor_role in ('admin', 'superadmin')),
  reason text check ((reason is null) = (actor_role = 'admin')),
  signed_in_by text not null check (signed_in_by in ('viewer_link', 'jwt')),
  idle_expires_at timestamptz not null,
  expires_at timestamptz not null check (idle_expires_at <= expires_at),
  opened_by jsonb, -- null for a person with a token of their own
  scopes text[],
  -- The agents that used the person's token (claim `act`), nearest first, as [{"id", "externalId"?, "name"?}]: what a
  -- session does is recorded after the token is gone.
  agents jsonb not null default '[]'
) with (fillfactor = 80);
create index sessions_by_expiry on sessions (idle_expires_at);
create index sessions_by_tenant on sessions (tenant_id, id);

-- Which of these keys are unknown, revoked or expired at this moment.
create function invalid_keys(ids uuid[], moment timestamptz) returns setof uuid language sql stable as $$
  select wanted.id from unnest(ids) as wanted (id) left join api_keys as known on known.id = wanted.id
    where known.id is null or known.revoked_at is not null or known.expires_at <= moment
$$;

-- Removes expired links and sessions, a bounded number at a time. Skips those that another sign-in is removing: two
-- sign-ins never wait for each other.
create function forget_expired_sign_ins(moment timestamptz) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  delete from viewer_links where token_hash in (
    select token_hash from viewer_links where expires_at <= moment limit 100 for update skip locked);
  delete from sessions where token_hash in (
    select token_hash from sessions where idle_expires_at <= moment limit 100 for update skip locked);
$$;

alter table viewer_links enable row level security;
alter table sessions enable row level security;
create policy any_tenant on viewer_links to indelible_writer using (true) with check (true);
create policy any_tenant on sessions to indelible_writer using (true) with check (true);

grant select, insert, update (revoked_at, last_used_at) on api_keys to indelible_writer;
grant select, insert, delete on viewer_links to indelible_writer;
grant select, insert, delete, update (idle_expires_at) on sessions to indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function invalid_keys, forget_expired_sign_ins to indelible_writer;
