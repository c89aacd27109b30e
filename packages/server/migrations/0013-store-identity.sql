-- Database and object store know each other: a store that is not the installation's own is refused.

-- What `installation.json` in the object store says; null until a process has served.
alter table installation add column store_id uuid;

-- The first process names the identity; later ones read what it set.
create function open_store_id(wanted uuid) returns uuid
language sql security definer set search_path = indelible, pg_temp as $$
  update installation set store_id = coalesce(store_id, wanted) returning store_id
$$;

revoke execute on function open_store_id from public;
grant execute on function open_store_id to indelible_writer;
