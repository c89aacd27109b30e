-- Retention counts from the receipt of an event if that is later than its timestamp. Events that were
-- received more than a day late lie in a class of their own, whatever their tenant's plan: it has one
-- partition a year, and retention removes each row by its receipt. So all other partitions can be dropped
-- whole, a day after their end has expired.

alter table plans drop constraint plans_check,
  add constraint plans_check check ((name is null) = (class in (3, 1000)));
insert into plans (class, unit, wide_before, retired) values (1000, 'month', 'infinity', true);

-- As before, but late events are also found by their receipt, at which they are removed.
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
  execute format('alter table audit_events attach partition %I for values from (%s, %L) to (%s, %L)',
    child, class, first_id_at(first), class, first_id_at(bound));
end $$;

-- The tenants' reads look into the class of late events from now on.
create function keep_late(tenants uuid[]) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  update log_heads set other_classes = other_classes || 1000::smallint
    where tenant_id = any (tenants) and 1000 <> all (other_classes)
$$;
revoke execute on function keep_late from public;
grant execute on function keep_late to indelible_writer;

-- Late events of former releases. Detached partitions have expired under the former rule.
select place_partition(1000::smallint, make_timestamptz(year, 1, 1, 0, 0, 0, 'UTC'))
  from (select distinct substring(relname from '_(\d{4})\d*$')::int as year
    from pg_class join pg_inherits on inhrelid = pg_class.oid
    where inhparent = 'audit_events'::regclass) as stored;
update audit_events set retention_class = 1000
  where id < first_id_at(received_at - interval '24 hours');
select keep_late(array(select distinct tenant_id from audit_events where retention_class = 1000));

-- When the first event of a saved search's range expires follows from this time, no longer from its id.
alter table searches add column counted_from timestamptz;
update searches set counted_from = to_timestamp(
  ('x' || substr(replace(first_event_id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0);
