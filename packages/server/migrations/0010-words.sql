-- The words of events, for the filter q, and the values that statistics count, in blocks of consecutive entries of a log.
-- They stand beside the events: recording writes nothing here, a worker follows the logs.
-- docs/decisions/0016-words-in-blocks.md says how.

-- The entries of the log below size are in blocks. Its lock serialises all changes of a tenant's blocks.
create table word_heads (
  tenant_id uuid primary key,
  size bigint not null default 0,
  -- Retention has removed no event that happened since then.
  whole_from_ms bigint not null default 0
) with (fillfactor = 50);

create table word_blocks (
  tenant_id uuid not null,
  first bigint not null,
  entries int not null,
  ids bytea not null, -- 16 bytes for each event, ascending
  oldest uuid not null, -- of the events whose words are in the lists
  newest uuid not null,
  times bytea not null, -- milliseconds, in the order of ids
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

-- How many of these ids, 16 bytes each and ascending, are from before a millisecond: by binary search, which reads a
-- few bytes of a block for each step. A recursive query does not run on a cluster.
create function ids_before(ids bytea, ms bigint) returns int
language plpgsql immutable strict parallel safe as $$
declare
  first bytea := decode(lpad(to_hex(ms), 12, '0'), 'hex');
  low int := 0;
  high int := octet_length(ids) / 16;
  middle int;
begin
  while low < high loop
    middle := (low + high) / 2;
    if substring(ids from middle * 16 + 1 for 6) < first then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $$;

alter table word_heads enable row level security;
alter table word_blocks enable row level security;
alter table word_lists enable row level security;
create policy tenant_only on word_heads for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on word_blocks for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on word_lists for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on word_heads to indelible_writer using (true) with check (true);
create policy any_tenant on word_blocks to indelible_writer using (true) with check (true);
create policy any_tenant on word_lists to indelible_writer using (true) with check (true);

grant select on word_heads, word_blocks, word_lists to indelible_reader;
grant select, insert, update on word_heads to indelible_writer;
grant select, insert, delete on word_blocks, word_lists to indelible_writer;

revoke execute on all functions in schema indelible from public;
grant execute on function ids_before to indelible_reader;
