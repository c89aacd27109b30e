-- The host's own id of a tenant, from which its UUID is derived; null: the host names the tenant by the UUID.
alter table tenants add column if not exists external_id text;

grant insert (external_id), update (external_id) on tenants to indelible_writer;
