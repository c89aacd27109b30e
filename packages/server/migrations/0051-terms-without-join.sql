-- As in 0048, without a join: on a cluster, a function that runs on the node of its tenant may read `plans`, but not join
-- it with the rows of the tenant.
create or replace function change_terms(home uuid, new_plan text, new_hold boolean, moment timestamptz) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  former record;
  left_classes smallint[];
  left_class smallint;
begin
  select plan, legal_hold into former from tenants where id = home;
  select array_agg(class) into left_classes from plans where name = former.plan and name <> new_plan;
  update tenants set plan = new_plan, legal_hold = new_hold where id = home;
  foreach left_class in array coalesce(left_classes, '{}')
      || case when former.legal_hold and not new_hold then array[3::smallint] else '{}' end loop
    insert into grace as g (tenant_id, class, until)
      values (home, left_class, greatest(moment, clock_timestamp()) + interval '30 days')
      on conflict (tenant_id, class) do update set until = greatest(g.until, excluded.until);
  end loop;
end $$;
