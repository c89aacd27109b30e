-- The host's own id of a person who signs in, from which actor_id is derived; null: the host has UUIDs.
alter table viewer_links add column if not exists actor_external_id text;
alter table sessions add column if not exists actor_external_id text;
