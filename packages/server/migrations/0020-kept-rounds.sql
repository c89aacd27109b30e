-- The last 1,000 rounds as they are in the object store: what the store loses of them is published again, byte for byte.
create table if not exists round_objects (
  round bigint primary key,
  object bytea not null
);
grant select on round_objects to indelible_writer;

-- A round that is kept already is not replaced.
create or replace function keep_round(this_round bigint, bytes bytea) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  insert into round_objects values (this_round, bytes) on conflict do nothing;
  delete from round_objects where round <= this_round - 1000;
$$;
revoke execute on function keep_round from public;
grant execute on function keep_round to indelible_writer;
