-- What has left PostgreSQL, or is to leave it. The owner's alone, except that readers find the parts of the archive: no
-- serving role changes any of it, and none sees the rest.

-- One row an archive part, written when its manifest is in the object store: where the next one begins.
create table archive_segments (
  tenant_id uuid not null,
  first_sequence bigint not null check (first_sequence >= 0),
  last_sequence bigint not null check (last_sequence >= first_sequence),
  stem text not null, -- object name without what follows the sequences
  root bytea not null check (octet_length(root) = 32), -- of the log up to and with the last sequence
  events bigint not null,
  bytes bigint not null,
  archived_at timestamptz not null,
  primary key (tenant_id, first_sequence)
);

-- One row: when a run last began, so that a restart of the service does not put the next one off.
create table archive_runs (
  only_row boolean primary key default true check (only_row),
  started_at timestamptz not null default '-infinity'
);
insert into archive_runs default values;

-- The verified parts of the archive from which old events are read: docs/decisions/0017-cold-events.md.
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

-- Erasures as they are in the log, and how far they have come. Of each event below size by one of these actors, operators
-- aside, and of each of these events, the segment goes: its columns and its salt. Its hash stays, so that the commitment,
-- and the log, still verify. Names nobody.
create table erasures (
  tenant_id uuid not null,
  id uuid not null,
  segment text not null check (segment in ('change', 'context', 'identity', 'state')),
  actors uuid[] not null,
  events uuid[] not null,
  size bigint not null check (size >= 0),
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (tenant_id, id)
);
create index erasures_unfinished on erasures (tenant_id) where finished_at is null;

-- Tenants that have left; log_heads.closed_at says so to recording.
create table offboardings (
  tenant_id uuid primary key,
  size bigint not null check (size >= 0), -- of the log: every event below it is removed
  record bigint not null check (record >= size), -- sequence of the event that says so
  reason text not null,
  bundle json not null, -- what was handed over before
  counts json not null,
  closed_at timestamptz not null,
  finished_at timestamptz
);

-- Whether a Bloom filter may hold a key: each of six probes is one byte of it.
create function holds_key(keys bytea, first bigint, step bigint) returns boolean
language sql immutable parallel safe as $$
  select bool_and(get_byte(substr(keys, (bit >> 3)::int + 1, 1), 0) >> (bit & 7)::int & 1 = 1)
  from (select (first + probe * step) % (8 * octet_length(keys)) as bit from generate_series(0, 5) as probe) as probes
$$;

alter table archive_segments enable row level security;
alter table archive_runs enable row level security;
alter table cold_parts enable row level security;
alter table erasures enable row level security;
alter table offboardings enable row level security;
create policy tenant_only on cold_parts for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

grant select on cold_parts to indelible_reader;

revoke execute on all functions in schema indelible from public;
grant execute on function holds_key to indelible_reader;
