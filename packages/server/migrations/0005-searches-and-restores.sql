-- Saved searches (evidence), and calls to host products that restore a former state.

-- What was asked, against which checkpoint, and what came out; never changed once saved.
create table searches (
  tenant_id uuid not null,
  id uuid not null,
  filters json not null, -- canonical, with an absolute range
  note text,
  created_at timestamptz not null,
  created_by_id uuid not null,
  created_by_email text,
  log_id uuid not null,
  checkpoint_size bigint not null,
  checkpoint_root bytea not null check (octet_length(checkpoint_root) = 32),
  checkpoint_note text not null,
  matched bigint not null check (matched >= 0),
  digest bytea not null check (octet_length(digest) = 32),
  first_event_id uuid, -- the oldest event in the range, whether it matches or not
  primary key (tenant_id, id)
);

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
  attempts int not null default 0,
  due_at timestamptz not null, -- the next attempt; while one runs, when it is given up for lost
  primary key (tenant_id, id),
  check ((status = 'requested') = (finished_at is null)),
  check ((status = 'requested') = (body is not null))
);
-- A double click asks once.
create unique index restore_pending on restores (tenant_id, event_id, target) where status = 'requested';
create index restores_due on restores (due_at) where status = 'requested';
create index restores_by_resource on restores (tenant_id, resource_id, id);

alter table searches enable row level security;
alter table restores enable row level security;
create policy tenant_only on searches for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on restores for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on searches for insert to indelible_writer with check (true);
-- The job calls for many tenants: the named exception.
create policy any_tenant on restores to indelible_writer using (true) with check (true);

grant select on searches, restores to indelible_reader;
grant insert on searches to indelible_writer;
grant insert, select on restores to indelible_writer;
grant update (status, reason, finished_at, body, attempts, due_at) on restores to indelible_writer;
