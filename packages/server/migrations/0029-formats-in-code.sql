-- The code knows the formats of streams and exports, and refuses others: a new format needs no migration. The constraint
-- has another name in a database that began with former migrations.
do $$
declare
  the_check record;
begin
  for the_check in
    select conrelid::regclass as owner, conname from pg_constraint c
      join pg_attribute a on attrelid = conrelid and conkey = array[attnum]
    where contype = 'c' and attname = 'format' and conrelid in ('webhooks'::regclass, 'exports'::regclass)
  loop
    execute format('alter table %s drop constraint %I', the_check.owner, the_check.conname);
  end loop;
end $$;
