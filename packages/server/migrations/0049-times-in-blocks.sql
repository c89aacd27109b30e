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
revoke all on function ids_before from public;
grant execute on function ids_before to indelible_reader;
