-- Webhooks and alert rules. The log is the queue: each webhook, and each tenant for its rules, has one position in it, and
-- what is behind it is still to be delivered or evaluated. `log reopen` sets positions back by rewind_readers (0016).

create table webhooks (
  tenant_id uuid not null,
  id uuid not null,
  name text,
  url text not null,
  format text not null check (format in
    ('webhook', 'splunk_hec', 'datadog', 'elastic', 'generic', 'slack', 'teams', 'pagerduty')),
  types text[] not null,
  filters json not null, -- canonical: {category?, action?, resource?}
  options json not null,
  secret bytea not null, -- sealed with the session secret, never in clear; so are the next two
  previous_secret bytea,
  previous_secret_until timestamptz,
  credential bytea,
  status text not null default 'active' check (status in ('active', 'paused')),
  paused_because text check (paused_because in ('requested', 'failing')),
  revision int not null default 0, -- counts what changes which messages there are, or what is in them
  next_sequence bigint not null check (next_sequence >= 0), -- everything before it is done with
  announced_sequence bigint not null default -1, -- the last export that was told of in a message of its own
  -- The message that is due. Written before it is sent, so that a crash repeats this one and no other.
  message_id uuid,
  message_type text,
  message_end bigint, -- the sequence behind the last one it covers; it begins at next_sequence
  message_at timestamptz,
  attempt int not null default 0, -- failed ones of the message
  due_at timestamptz not null, -- of the next attempt
  -- Which process delivers, and until when no other may.
  lease uuid,
  lease_until timestamptz,
  served_at timestamptz not null, -- the webhook that has waited longest comes first
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Headers of the receiver's own, which usually carry a credential: {name: base64 of the sealed value}.
  headers json not null default '{}',
  primary key (tenant_id, id),
  check ((status = 'paused') = (paused_because is not null)),
  check ((previous_secret is null) = (previous_secret_until is null)),
  check ((message_id is null) = (message_type is null)),
  check ((message_id is null) = (message_end is null)),
  check ((message_id is null) = (message_at is null)),
  check ((lease is null) = (lease_until is null))
);
create index webhooks_active on webhooks (due_at) where status = 'active';

-- One row an attempt.
create table webhook_deliveries (
  tenant_id uuid not null,
  webhook_id uuid not null,
  id uuid not null,
  message_id uuid not null,
  type text not null,
  status text not null check (status in ('delivered', 'failed')),
  attempt int not null check (attempt > 0),
  first_sequence bigint,
  last_sequence bigint,
  events int not null,
  at timestamptz not null,
  duration_ms int not null,
  response_status int,
  response text,
  reason text,
  next_attempt_at timestamptz,
  primary key (tenant_id, webhook_id, id),
  foreign key (tenant_id, webhook_id) references webhooks (tenant_id, id) on delete cascade
);
create index webhook_deliveries_by_age on webhook_deliveries (at);

create table alert_rules (
  tenant_id uuid not null,
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
  dropped bigint not null default 0, -- findings above the limit of alerts in an hour, since the rule began
  primary key (tenant_id, id)
);
create index alert_rules_due on alert_rules (tenant_id) where silent_at is not null or tell_at is not null;

-- Of tenants with an enabled rule.
create table alert_cursors (
  tenant_id uuid primary key,
  next_sequence bigint not null check (next_sequence >= 0),
  late_skipped bigint not null default 0, -- events that came too late to set anything off
  -- Which process evaluates, and until when no other may.
  lease uuid,
  lease_until timestamptz,
  served_at timestamptz not null,
  check ((lease is null) = (lease_until is null))
);

alter table webhooks enable row level security;
alter table webhook_deliveries enable row level security;
alter table alert_rules enable row level security;
alter table alert_cursors enable row level security;
create policy tenant_only on webhooks for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on webhook_deliveries for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on alert_rules for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on alert_cursors for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on webhooks to indelible_writer using (true) with check (true);
create policy any_tenant on webhook_deliveries to indelible_writer using (true) with check (true);
create policy any_tenant on alert_rules to indelible_writer using (true) with check (true);
create policy any_tenant on alert_cursors to indelible_writer using (true) with check (true);

grant select on webhooks, webhook_deliveries, alert_rules, alert_cursors to indelible_reader;
grant select, insert, delete on webhooks, webhook_deliveries, alert_rules, alert_cursors to indelible_writer;
grant update (name, url, format, types, filters, options, secret, previous_secret, previous_secret_until,
  credential, status, paused_because, revision, next_sequence, announced_sequence, message_id, message_type,
  message_end, message_at, attempt, due_at, lease, lease_until, served_at, updated_at, headers)
  on webhooks to indelible_writer;
grant update (settings, version, enabled, from_sequence, muted_until, silent_at, untold, tell_at, told_at,
  updated_at, dropped) on alert_rules to indelible_writer;
grant update (next_sequence, late_skipped, lease, lease_until, served_at) on alert_cursors to indelible_writer;
