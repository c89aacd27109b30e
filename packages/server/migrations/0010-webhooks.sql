-- Webhooks. The log is the queue: an endpoint is a place in its tenant's log, and what comes behind it is
-- still to be delivered.

create table webhooks (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text,
  url text not null,
  format text not null check (format in ('webhook', 'splunk_hec', 'datadog', 'elastic', 'generic')),
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
  -- Who delivers, and until when nobody else may.
  lease uuid,
  lease_until timestamptz,
  served_at timestamptz not null, -- who has waited longest comes first
  created_at timestamptz not null,
  updated_at timestamptz not null,
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

-- A log that was reopened may be shorter than before: what comes next has numbers that were passed already.
create function rewind_webhooks() returns trigger
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  update webhooks set next_sequence = new.size, revision = revision + 1, message_id = null,
      message_type = null, message_end = null, message_at = null
    where tenant_id = new.tenant_id and next_sequence > new.size;
  update webhooks set announced_sequence = -1
    where tenant_id = new.tenant_id and announced_sequence >= new.size;
  return null;
end $$;
create trigger rewind_webhooks after update of log_id on log_heads
  for each row execute function rewind_webhooks();

alter table webhooks enable row level security;
alter table webhook_deliveries enable row level security;
create policy tenant_only on webhooks for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_only on webhook_deliveries for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- The job delivers for many tenants: the named exception.
create policy any_tenant on webhooks to indelible_writer using (true) with check (true);
create policy any_tenant on webhook_deliveries to indelible_writer using (true) with check (true);

grant select on webhooks, webhook_deliveries to indelible_reader;
grant select, insert, delete on webhooks, webhook_deliveries to indelible_writer;
grant update (name, url, format, types, filters, options, secret, previous_secret, previous_secret_until,
  credential, status, paused_because, revision, next_sequence, announced_sequence, message_id, message_type,
  message_end, message_at, attempt, due_at, lease, lease_until, served_at, updated_at)
  on webhooks to indelible_writer;

revoke execute on function rewind_webhooks from public;
