-- As before, but a year of room for a clock that was wrong, as there is in the other direction.
create or replace function make_partition(class smallint, moment timestamptz) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  if (exists (select from plans p where p.class = make_partition.class and (p.name is null
        or moment > now() - make_interval(years => p.years + 1, days => p.days)))
      and moment >= '1970-01-01 UTC' and moment < now() + interval '1 year'
      or partition_exists(partition_name(class, moment))) is not true then
    raise exception 'no event can lie in that partition' using errcode = 'invalid_parameter_value';
  end if;
  perform place_partition(class, moment);
end $$;
