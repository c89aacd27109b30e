-- Exports: what was asked for, how far it has come, and what came out.

create table exports (
  tenant_id uuid not null,
  id uuid not null,
  mode text not null check (mode in ('stream', 'job')), -- sent with the answer, or made by a worker and kept
  status text not null check (status in ('queued', 'running', 'ready', 'failed', 'expired', 'cancelled')),
  format text not null check (format in ('csv', 'ndjson')),
  columns text[], -- null: the standard ones
  filters json not null, -- canonical, see filterText
  -- The file is the filtered log below its own record and as the plan showed it then: whoever makes it
  -- again gets the same bytes.
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
  notified text[], -- null: nobody was tried to be told yet
  notice text,
  primary key (tenant_id, id),
  check ((status in ('queued', 'running')) = (finished_at is null)),
  check (status not in ('ready', 'expired') or (bytes is not null and sha256 is not null))
);
create index exports_unfinished on exports (tenant_id) where status in ('queued', 'running');
create index exports_stored on exports (finished_at) where stored;

alter table exports enable row level security;
create policy tenant_only on exports for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- Workers make the files of many tenants: the named exception.
create policy any_tenant on exports to indelible_writer using (true) with check (true);

grant select on exports to indelible_reader;
grant insert, select on exports to indelible_writer;
grant update (status, attempt, rows_done, rows_total, bytes, sha256, failure, finished_at, expires_at, stored,
  notified, notice) on exports to indelible_writer;
