-- Live views: a search under a name, of one person or of the whole tenant. Nothing of its answer is stored.

create table views (
  tenant_id uuid not null references tenants (id),
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

alter table views enable row level security;
create policy tenant_only on views for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on views to indelible_writer using (true) with check (true);
grant select on views to indelible_reader;
grant select, insert, update, delete on views to indelible_writer;
