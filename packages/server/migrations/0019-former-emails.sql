-- Addresses that a tenant's notices went to until they were taken away: for a while they are still told
-- of what takes protection from the tenant, so that taking them away first evades nothing.

create table former_emails (
  tenant_id uuid not null references tenants (id),
  email text not null,
  until timestamptz not null,
  primary key (tenant_id, email)
);

alter table former_emails enable row level security;
create policy any_tenant on former_emails to indelible_writer using (true) with check (true);
grant select, insert, update, delete on former_emails to indelible_writer;
