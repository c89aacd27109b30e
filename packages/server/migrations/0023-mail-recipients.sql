-- Addresses that a tenant itself named for its mail: they get mail only after they have confirmed once. Also counts the
-- messages to every address, so that a tenant has at most so many a day.
create table if not exists mail_recipients (
  tenant_id uuid not null,
  email text not null, -- in lower case
  asked_at timestamptz, -- when the last confirmation mail was queued; its link expires a week later
  token_hash bytea, -- of the link in that mail, until it is used
  confirmed_at timestamptz,
  mails_on date, -- the day (UTC) that `mails` counts
  mails int not null default 0,
  primary key (tenant_id, email)
);

alter table mail_recipients enable row level security;
drop policy if exists tenant_only on mail_recipients;
create policy tenant_only on mail_recipients for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
drop policy if exists any_tenant on mail_recipients;
create policy any_tenant on mail_recipients to indelible_writer using (true) with check (true);

grant select on mail_recipients to indelible_reader;
grant select, insert, update, delete on mail_recipients to indelible_writer;
