-- What the owner's jobs remove follows from a tenant's plan and hold, its graces, and the mark of its archive. A serving
-- login that could write these could let the jobs remove events: it changes plan and hold by this function alone, which
-- grants the grace, and the others not at all. The mail names the same 30 days.
create function change_terms(home uuid, new_plan text, new_hold boolean, moment timestamptz) returns void
language plpgsql strict security definer set search_path = indelible, pg_temp as $$
declare
  kept_until timestamptz := greatest(moment, now()) + interval '30 days';
  former record;
  left_class smallint;
begin
  select t.plan, t.legal_hold, p.class into former from tenants t join plans p on p.name = t.plan where t.id = home;
  foreach left_class in array case when former.plan <> new_plan then array[former.class] else '{}' end
      || case when former.legal_hold and not new_hold then array[3::smallint] else '{}' end loop
    insert into grace as g (tenant_id, class, until) values (home, left_class, kept_until)
      on conflict (tenant_id, class) do update set until = greatest(g.until, excluded.until);
  end loop;
  update tenants set plan = new_plan, legal_hold = new_hold where id = home;
end $$;
revoke execute on function change_terms from public;
grant execute on function change_terms to indelible_writer;

revoke insert, update (until) on grace from indelible_writer;
revoke insert, update on tenants from indelible_writer;
grant insert (id, name, plan, locale, time_zone, notify_emails, digest, restore_url, legal_hold, created_at, updated_at),
  update (name, locale, time_zone, notify_emails, digest, digests_until, restore_url, restore_secret, updated_at)
  on tenants to indelible_writer;
