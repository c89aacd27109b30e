-- The host's own id of the person who asked for an export or a restore; null: the host has UUIDs.
alter table exports add column if not exists requested_by_external_id text;
alter table restores add column if not exists requested_by_external_id text;
