-- Alert rules. The log is the queue: a tenant has one cursor, and every rule is evaluated on the events behind it.

create table alert_rules (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  built_in text, -- the rule of the built-in table that this row switches on or changes
  settings json not null, -- name, kind, filters, limits, who is told
  version int not null default 1, -- counts what changes which alerts there are
  enabled boolean not null,
  from_sequence bigint not null check (from_sequence >= 0), -- earlier events set nothing off
  muted_until timestamptz,
  -- Of an enabled rule of kind silence: the moment at which it looks. Null while the silence lasts.
  silent_at timestamptz,
  -- Alerts that no message has told of, and the moment of the next message.
  untold uuid[] not null default '{}',
  tell_at timestamptz,
  told_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id)
);
create index alert_rules_due on alert_rules (tenant_id) where silent_at is not null or tell_at is not null;

-- Of tenants with an enabled rule. What is behind `next_sequence` is still to be evaluated.
create table alert_cursors (
  tenant_id uuid primary key references tenants (id),
  next_sequence bigint not null check (next_sequence >= 0),
  late_skipped bigint not null default 0, -- events that came too late to set anything off
  -- Who evaluates, and until when no other process may.
  lease uuid,
  lease_until timestamptz,
  served_at timestamptz not null,
  check ((lease is null) = (lease_until is null))
);

-- A log that was reopened may be shorter than before, as for webhooks.
create function rewind_alerts() returns trigger
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  update alert_cursors set next_sequence = new.size
    where tenant_id = new.tenant_id and next_sequence > new.size;
  update alert_rules set from_sequence = new.size
    where tenant_id = new.tenant_id and from_sequence > new.size;
  return null;
end $$;
create trigger rewind_alerts after update of log_id on log_heads
  for each row execute function rewind_alerts();
revoke execute on function rewind_alerts from public;

alter table alert_rules enable row level security;
alter table alert_cursors enable row level security;
create policy tenant_only on alert_rules for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on alert_cursors for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- The job evaluates for many tenants: the named exception.
create policy any_tenant on alert_rules to indelible_writer using (true) with check (true);
create policy any_tenant on alert_cursors to indelible_writer using (true) with check (true);
grant select on alert_rules, alert_cursors to indelible_reader;
grant select, insert, delete on alert_rules, alert_cursors to indelible_writer;
grant update (settings, version, enabled, from_sequence, muted_until, silent_at, untold, tell_at, told_at,
  updated_at) on alert_rules to indelible_writer;
grant update (next_sequence, late_skipped, lease, lease_until, served_at) on alert_cursors to indelible_writer;
