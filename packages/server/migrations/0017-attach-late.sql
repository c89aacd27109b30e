-- The partition is attached in a subtransaction, whose number is younger than that of every announcement so far, also in a
-- transaction that has written before: else the partition would count as told. See announce_partitions.
create or replace function place_partition(class smallint, moment timestamptz) returns void
language plpgsql set search_path = indelible, pg_temp as $$
declare
  unit text := partition_unit(class, moment);
  first timestamptz := date_trunc(unit, moment, 'UTC');
  bound timestamptz := (first at time zone 'UTC' + ('1 ' || unit)::interval) at time zone 'UTC';
  child text := partition_name(class, moment);
begin
  if partition_exists(child) then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('indelible.make_partition'));
  if partition_exists(child) then
    return;
  end if;
  execute format('create table if not exists %I (like audit_events including all)', child);
  if class = 1000 then
    execute format('create index on %I (tenant_id, received_at)', child);
  end if;
  begin
    execute format('alter table audit_events attach partition %I for values from (%s, %L) to (%s, %L)',
      child, class, first_id_at(first), class, first_id_at(bound));
  exception when others then
    raise; -- it is the block that makes the subtransaction
  end;
end $$;

revoke execute on function place_partition from public;

-- record_events, which alone calls it, has the owner's rights already.
alter function note_sources security invoker;
