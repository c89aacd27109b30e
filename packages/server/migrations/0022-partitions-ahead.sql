-- Every partition of the coming days. By days and months of UTC: on the day of a clock change a session in another zone skipped
-- one, and a month after the 31st ends earlier than so many days.
create or replace function make_partitions_ahead(today timestamptz, days int) returns void
language sql set timezone = 'UTC' set search_path = indelible, pg_temp as $$
  select place_partition(class, first) from plans, generate_series(date_trunc(unit, today),
      today + make_interval(days => make_partitions_ahead.days), ('1 ' || unit)::interval) first
    where not retired;
$$;
