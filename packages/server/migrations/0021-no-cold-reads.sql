-- Every read is of PostgreSQL alone. A database of an earlier build may have moved events into the archive (HOT_MONTHS):
-- lists would lack them without a word, so it keeps its schema and its build.
do $$
declare
  moved bigint := 0;
begin
  if to_regclass('cold_parts') is not null then
    select count(*) into moved from tenants where cold_before is not null;
  end if;
  if moved > 0 then
    raise exception 'older events of % tenant(s) are in the archive only, because HOT_MONTHS was set, and this build reads '
      'PostgreSQL alone: keep running the former build, or load the archive as docs/archive.md says', moved;
  end if;
end $$;

drop table if exists cold_parts;
drop function if exists holds_key(bytea, bigint, bigint);
alter table tenants drop column if exists cold_before;
