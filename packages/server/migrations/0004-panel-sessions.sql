-- Signing in to the panel: one-time viewer links, and the sessions of browsers. Of the secrets behind
-- both only hashes are stored. Only the writer role has them: they are looked up before any tenant is
-- known, and nothing that reads a tenant's data needs them.

create table viewer_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id uuid not null,
  tenant_id uuid not null references tenants (id),
  actor_id uuid not null,
  actor_email text,
  actor_role text not null check (actor_role in ('admin', 'superadmin')),
  reason text check ((reason is null) = (actor_role = 'admin')),
  path text,
  expires_at timestamptz not null
);
create index viewer_links_by_expiry on viewer_links (expires_at);

create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id uuid not null,
  tenant_id uuid not null references tenants (id),
  actor_id uuid not null,
  actor_email text,
  actor_role text not null check (actor_role in ('admin', 'superadmin')),
  reason text check ((reason is null) = (actor_role = 'admin')),
  signed_in_by text not null check (signed_in_by in ('viewer_link', 'jwt')),
  idle_expires_at timestamptz not null,
  expires_at timestamptz not null check (idle_expires_at <= expires_at)
) with (fillfactor = 80);
create index sessions_by_expiry on sessions (idle_expires_at);

-- Removes what nobody can use any more, a bounded number at a time. Skips what others are removing:
-- two sign-ins never wait for each other's cleaning.
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

grant select, insert, delete on viewer_links, sessions to indelible_writer;
grant update (idle_expires_at) on sessions to indelible_writer;

revoke execute on function forget_expired_sign_ins from public;
grant execute on function forget_expired_sign_ins to indelible_writer;
