-- Saved searches: evidence, whose answer is fixed, and views, which are run anew.

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
  counted_from timestamptz, -- when the first event of the range expires follows from this time
  primary key (tenant_id, id)
);

-- A search under a name, of one person or of the whole tenant. Nothing of its answer is stored.
create table views (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  filters json not null, -- canonical
  last text, -- a relative time range of the panel, instead of the filter's own
  columns text[],
  shared boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by_id uuid not null, -- the only person who sees it, unless it is shared
  created_by_email text,
  primary key (tenant_id, id)
);

alter table searches enable row level security;
alter table views enable row level security;
create policy tenant_only on searches for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on views for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on searches for insert to indelible_writer with check (true);
create policy any_tenant on views to indelible_writer using (true) with check (true);

grant select on searches, views to indelible_reader;
grant insert on searches to indelible_writer;
grant select, insert, update, delete on views to indelible_writer;
