-- Events that have left PostgreSQL: read from the archive. docs/decisions/0017-cold-events.md says how.

-- Events with a lower id, except late ones, are read from the archive and from nowhere else.
alter table tenants add column cold_before uuid;

-- The verified parts of the archive from which they are read.
create table cold_parts (
  tenant_id uuid not null,
  first_sequence bigint not null check (first_sequence >= 0),
  last_sequence bigint not null check (last_sequence >= first_sequence),
  lowest uuid, -- ids of its events that did not come late; null without any
  highest uuid,
  folder text not null, -- of the two files
  files json not null, -- as in the manifest
  keys bytea not null, -- Bloom filter of the values of its events
  primary key (tenant_id, first_sequence)
);
-- A search looks at a few bytes of each filter. Random bits do not compress.
alter table cold_parts alter column keys set storage external;

alter table cold_parts enable row level security;
create policy tenant_only on cold_parts for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
grant select on cold_parts to indelible_reader;

-- Whether a Bloom filter may hold a key: each of six probes is one byte of it.
create function holds_key(keys bytea, first bigint, step bigint) returns boolean
language sql immutable parallel safe as $$
  select bool_and(get_byte(substr(keys, (bit >> 3)::int + 1, 1), 0) >> (bit & 7)::int & 1 = 1)
  from (select (first + probe * step) % (8 * octet_length(keys)) as bit from generate_series(0, 5) as probe) as probes
$$;
revoke all on function holds_key from public;
grant execute on function holds_key to indelible_reader;
