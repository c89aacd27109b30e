-- An admin lists and ends the sessions of the tenant. Keys may be bound to networks, and tell when they
-- were last used.

create index sessions_by_tenant on sessions (tenant_id, id);

alter table api_keys add column allowed_ips text[], add column last_used_at timestamptz;
grant update (last_used_at) on api_keys to indelible_writer;
