-- As in 0045, but the grace begins when the tenant is changed: a transaction that had begun 30 days before gave none.
-- One that is not committed then holds the tenant's row, which retention waits for.
create or replace function change_terms(home uuid, new_plan text, new_hold boolean, moment timestamptz) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  former record;
  left_class smallint;
begin
  select t.plan, t.legal_hold, p.class into former from tenants t join plans p on p.name = t.plan where t.id = home;
  update tenants set plan = new_plan, legal_hold = new_hold where id = home;
  foreach left_class in array case when former.plan <> new_plan then array[former.class] else '{}' end
      || case when former.legal_hold and not new_hold then array[3::smallint] else '{}' end loop
    insert into grace as g (tenant_id, class, until)
      values (home, left_class, greatest(moment, clock_timestamp()) + interval '30 days')
      on conflict (tenant_id, class) do update set until = greatest(g.until, excluded.until);
  end loop;
end $$;
