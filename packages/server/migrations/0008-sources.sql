-- Sources of events: recorders and outboxes that number what they send. What is between two received numbers and was not
-- received is a gap.

create table sources (
  tenant_id uuid not null,
  id text collate "C" not null,
  first_sequence bigint not null check (first_sequence >= 0),
  last_sequence bigint not null check (last_sequence >= first_sequence),
  first_received_at timestamptz not null,
  last_received_at timestamptz not null,
  longest_pause interval not null default '0',
  -- Set by the job once it has found the source silent; null again with the next event.
  silent_since timestamptz,
  -- When the list of gaps was last found incomplete: a gap was dropped for the limit, or a number came twice.
  gaps_dropped_at timestamptz,
  primary key (tenant_id, id)
);
create index sources_speaking on sources (last_received_at) where silent_since is null;

-- Numbers that were not received. They were sent, if ever, between the receipts of their neighbours.
create table source_gaps (
  tenant_id uuid not null,
  source_id text collate "C" not null,
  first_sequence bigint not null,
  last_sequence bigint not null check (last_sequence >= first_sequence),
  after_at timestamptz not null, -- receipt of the last event before it
  noticed_at timestamptz not null, -- receipt of the first event behind it
  told_at timestamptz, -- when it was recorded in the tenant's log
  primary key (tenant_id, source_id, first_sequence),
  foreign key (tenant_id, source_id) references sources on delete cascade
);
create index source_gaps_untold on source_gaps (noticed_at) where told_at is null;

-- Takes the numbers that a flush has recorded; record_events calls it, and holds the heads of these tenants' logs, so no
-- other flush changes their sources. Bounded: 500 sources a tenant, then the one that has been silent
-- longest is forgotten; 50 gaps a source, then the oldest are dropped. Two processes with one source id, and a source that
-- was set back to an older backup, use numbers twice. A number that comes again with another event hides the loss of one:
-- from then on the list of gaps is not complete.
create function note_sources(tenants uuid[], ids text[], sequences bigint[], received timestamptz)
returns void language plpgsql security definer set search_path = indelible, pg_temp as $$
declare
  sent record;
  known sources;
  span int8multirange; -- of the numbers known before
  received_before int8multirange;
begin
  for sent in
    select t.tenant_id, t.id, range_agg(int8range(t.n, t.n, '[]')) as numbers,
      count(*) > count(distinct t.n) as repeats
    from unnest(tenants, ids, sequences) as t(tenant_id, id, n)
    group by t.tenant_id, t.id order by t.tenant_id, t.id
  loop
    select * into known from sources s where s.tenant_id = sent.tenant_id and s.id = sent.id;
    if found then
      span := int8multirange(int8range(known.first_sequence, known.last_sequence, '[]'));
      update sources s set
          first_sequence = least(first_sequence, lower(sent.numbers)),
          last_sequence = greatest(last_sequence, upper(sent.numbers) - 1),
          last_received_at = greatest(last_received_at, received),
          longest_pause = greatest(longest_pause, received - last_received_at),
          silent_since = null
        where s.tenant_id = sent.tenant_id and s.id = sent.id;
    else
      span := '{}';
      delete from sources s using (select x.id from sources x where x.tenant_id = sent.tenant_id
          order by x.last_received_at desc, x.id offset 499) as forgotten
        where s.tenant_id = sent.tenant_id and s.id = forgotten.id;
      -- Where sources were forgotten, it may be one of those and not a new one.
      insert into sources (tenant_id, id, first_sequence, last_sequence, first_received_at, last_received_at,
          gaps_dropped_at)
        values (sent.tenant_id, sent.id, case when found then lower(sent.numbers) else 0 end,
          upper(sent.numbers) - 1, received, received, case when found then received end)
        returning * into known;
    end if;
    -- Late numbers fill gaps, wholly or in part.
    if span && sent.numbers then
      select span - coalesce(range_agg(int8range(g.first_sequence, g.last_sequence, '[]')), '{}') into received_before
        from source_gaps g where g.tenant_id = sent.tenant_id and g.source_id = sent.id;
      sent.repeats := sent.repeats or received_before && sent.numbers;
      with filled as (
        delete from source_gaps g
          where g.tenant_id = sent.tenant_id and g.source_id = sent.id
            and int8range(g.first_sequence, g.last_sequence, '[]') && sent.numbers
          returning *
      )
      insert into source_gaps
        select tenant_id, source_id, lower(rest), upper(rest) - 1, after_at, noticed_at, told_at
        from filled, unnest(int8multirange(int8range(first_sequence, last_sequence, '[]')) - sent.numbers) as rest;
    end if;
    -- New gaps lie between the numbers known before and those of this flush, and between the latter. A new
    -- source begins at 0: what a producer lost before its first event arrived is a gap too.
    insert into source_gaps (tenant_id, source_id, first_sequence, last_sequence, after_at, noticed_at)
      select sent.tenant_id, sent.id, lower(gap), upper(gap) - 1, known.last_received_at, received
      from unnest(int8multirange(int8range(least(known.first_sequence, lower(sent.numbers)),
        greatest(known.last_sequence + 1, upper(sent.numbers)))) - span - sent.numbers) as gap;
    with dropped as (
      delete from source_gaps g using (select x.first_sequence from source_gaps x
          where x.tenant_id = sent.tenant_id and x.source_id = sent.id
          order by x.first_sequence desc offset 50) as old
        where g.tenant_id = sent.tenant_id and g.source_id = sent.id and g.first_sequence = old.first_sequence
        returning g.noticed_at
    )
    update sources s set gaps_dropped_at = greatest(gaps_dropped_at, (select max(noticed_at) from dropped))
      where s.tenant_id = sent.tenant_id and s.id = sent.id and exists (select from dropped);
    if sent.repeats then
      update sources s set gaps_dropped_at = received where s.tenant_id = sent.tenant_id and s.id = sent.id;
    end if;
  end loop;
end $$;

alter table sources enable row level security;
alter table source_gaps enable row level security;
create policy tenant_only on sources for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on source_gaps for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- The job and the metrics span tenants.
create policy any_tenant on sources to indelible_writer using (true) with check (true);
create policy any_tenant on source_gaps to indelible_writer using (true) with check (true);

grant select on sources, source_gaps to indelible_reader, indelible_writer;
grant update (silent_since) on sources to indelible_writer;
grant update (told_at) on source_gaps to indelible_writer;

revoke execute on all functions in schema indelible from public;
