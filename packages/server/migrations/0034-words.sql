-- The words of events, for the filter q. A block has the words of consecutive entries of a log, first 256,
-- later 65,536. It stands beside the events: recording writes nothing here, a worker follows the logs.

-- The entries of the log below size are in blocks. Its lock serialises all changes of a tenant's blocks.
create table word_heads (
  tenant_id uuid primary key,
  size bigint not null default 0
) with (fillfactor = 50);

create table word_blocks (
  tenant_id uuid not null,
  first bigint not null,
  entries int not null,
  ids bytea not null, -- 16 bytes for each event, ascending
  oldest uuid not null, -- of the events whose words are in the lists
  newest uuid not null,
  primary key (tenant_id, first)
);
alter table word_blocks alter column ids set storage external; -- read in slices

-- Words whose first letters have one hash, with the offsets of their events in ids.
create table word_lists (
  tenant_id uuid not null,
  list smallint not null,
  first bigint not null,
  words bytea not null,
  primary key (tenant_id, list, first)
);

alter table word_heads enable row level security;
alter table word_blocks enable row level security;
alter table word_lists enable row level security;
create policy tenant_only on word_heads for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on word_blocks for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on word_lists for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- The worker follows the logs of all tenants: the named exception.
create policy any_tenant on word_heads to indelible_writer using (true) with check (true);
create policy any_tenant on word_blocks to indelible_writer using (true) with check (true);
create policy any_tenant on word_lists to indelible_writer using (true) with check (true);
grant select on word_heads, word_blocks, word_lists to indelible_reader;
grant select, insert, update on word_heads to indelible_writer;
grant select, insert, delete on word_blocks, word_lists to indelible_writer;
