-- Erasure: what a person may ask for, or a leaked secret needs. A segment's columns and its salt go; its
-- hash stays, so that the commitment, and the log, still verify.

-- Hashes of erased segments by name, in hexadecimal; null while nothing is erased.
alter table audit_events add column erased json;

-- What retention has detached and not yet dropped may come back, and must fit.
do $$ declare
  child name;
begin
  for child in select relname from pg_class where relnamespace = 'indelible'::regnamespace
      and relkind = 'r' and relname like 'audit\_events\_%' loop
    execute format('alter table %I add column if not exists erased json', child);
  end loop;
end $$;

-- Erasures as they are in the log, and how far they have come. Of each event below size by one of these
-- actors, operators aside, and of each of these events, the segment goes. Names nobody.
create table erasures (
  tenant_id uuid not null,
  id uuid not null,
  segment text not null check (segment in ('change', 'identity', 'state')),
  actors uuid[] not null,
  events uuid[] not null,
  size bigint not null check (size >= 0),
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (tenant_id, id)
);
create index erasures_unfinished on erasures (tenant_id) where finished_at is null;

-- Tenants that have left: from then on their logs take only what the service records itself.
alter table log_heads add column closed_at timestamptz;
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

-- The owner's alone: no serving role sees or changes any of it.
alter table erasures enable row level security;
alter table offboardings enable row level security;
