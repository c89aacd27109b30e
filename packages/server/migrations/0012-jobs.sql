-- Background work that is queued, and what it makes: exports, and calls to host products that restore a former state.

create table jobs (
  tenant_id uuid not null,
  queue text not null,
  id uuid not null,
  data json not null,
  priority int not null default 0, -- higher goes first
  attempts int not null default 0, -- those that have begun
  due_at timestamptz not null, -- the next attempt; while one runs, when its lease ends
  lease uuid, -- of the process that works on it; null: it waits
  primary key (tenant_id, queue, id)
);
create index jobs_due on jobs (queue, due_at);

-- What was asked for, how far it has come, and what came out.
create table exports (
  tenant_id uuid not null,
  id uuid not null,
  mode text not null check (mode in ('stream', 'job')), -- sent with the answer, or made by a worker and kept
  status text not null check (status in ('queued', 'running', 'ready', 'failed', 'expired', 'cancelled')),
  format text not null check (format in ('csv', 'ndjson')),
  columns text[], -- null: the standard ones
  filters json not null, -- canonical, see filterText
  -- The file is the filtered log below its own record and as the plan showed it then: a worker that makes it again gets the
  -- same bytes.
  before_sequence bigint not null,
  oldest_id uuid not null,
  created_at timestamptz not null,
  requested_by_id uuid not null,
  requested_by_email text,
  requested_by_role text not null,
  access_reason text, -- an operator's declared one
  mail_to text, -- who is told how it ended; null: the addresses of the tenant
  attempt int not null default 0, -- whose word counts: a worker that was taken for dead may come back
  rows_done bigint not null default 0,
  rows_total bigint, -- null: not known yet
  bytes bigint,
  sha256 bytea check (octet_length(sha256) = 32),
  failure text check (failure in ('storage', 'interrupted', 'unexpected', 'aborted')),
  finished_at timestamptz,
  expires_at timestamptz,
  stored boolean not null default false, -- there may be an object of this export's name
  notified text[], -- null: no mail was tried yet
  notice text,
  alive_at timestamptz, -- the last sign of the process that sends it with the answer: a killed one says nothing
  agents jsonb not null default '[]', -- as those of sessions: outcomes are recorded after the token is gone
  primary key (tenant_id, id),
  check ((status in ('queued', 'running')) = (finished_at is null)),
  check (status not in ('ready', 'expired') or (bytes is not null and sha256 is not null))
);
create index exports_unfinished on exports (tenant_id) where status in ('queued', 'running');
create index exports_stored on exports (finished_at) where stored;

create table restores (
  tenant_id uuid not null,
  id uuid not null,
  event_id uuid not null,
  resource_type text not null,
  resource_id uuid not null,
  resource_name text,
  target text not null check (target in ('before', 'after')),
  status text not null default 'requested'
    check (status in ('requested', 'applied', 'refused', 'failed')),
  reason text,
  requested_at timestamptz not null,
  requested_by_id uuid not null,
  requested_by_email text,
  requested_by_role text not null,
  access_reason text, -- an operator's declared one
  finished_at timestamptz,
  body json, -- what the host product is sent, the same at every attempt; gone with the outcome
  fields text[], -- the members of a state that are asked for; null: the whole state
  agents jsonb not null default '[]',
  primary key (tenant_id, id),
  check ((status = 'requested') = (finished_at is null)),
  check ((status = 'requested') = (body is not null))
);
-- A double click asks once.
create unique index restore_pending on restores (tenant_id, event_id, target) where status = 'requested';
create index restores_by_resource on restores (tenant_id, resource_id, id);

alter table jobs enable row level security;
alter table exports enable row level security;
alter table restores enable row level security;
create policy tenant_only on exports for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on restores for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on jobs to indelible_writer using (true) with check (true);
create policy any_tenant on exports to indelible_writer using (true) with check (true);
create policy any_tenant on restores to indelible_writer using (true) with check (true);

grant select on exports, restores to indelible_reader;
grant select, insert, delete, update (attempts, due_at, lease) on jobs to indelible_writer;
grant select, insert, update (status, attempt, rows_done, rows_total, bytes, sha256, failure, finished_at, expires_at,
  stored, notified, notice, alive_at) on exports to indelible_writer;
grant select, insert, update (status, reason, finished_at, body) on restores to indelible_writer;
