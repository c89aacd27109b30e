-- What of each log is in the archive. The owner's alone: no serving role sees or changes any of it.

-- One row a segment, written when its manifest is in the object store: where the next one begins.
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

alter table archive_segments enable row level security;
alter table archive_runs enable row level security;
