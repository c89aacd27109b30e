-- The events that the logs prove. The id is a UUIDv7 of the event's own millisecond: it identifies, orders, partitions and
-- deduplicates. JSON is kept as canonical text (json, never jsonb): what is searched is what is proven.
create table audit_events (
  tenant_id uuid not null,
  id uuid not null,
  sequence bigint not null,
  received_at timestamptz not null,
  actor_id uuid not null,
  resource_id uuid not null,
  recorded_by_id uuid not null,
  retention_class smallint not null,
  cross_tenant boolean not null,
  recorded_by_kind text not null,
  actor_email text,
  actor_email_key text collate "C" not null, -- lower case, '' for none; lower() is not leakproof
  actor_role text not null,
  actor_ip text,
  actor_user_agent text,
  action text collate "C" not null,
  resource_type text collate "C" not null,
  resource_name text,
  category text collate "C" not null,
  reason text,
  diff json not null,
  before json,
  after json,
  salts bytea not null, -- 16 bytes a segment: change, event, identity; context and state when stored
  erased json, -- hashes of erased segments by name, in hexadecimal; null while nothing is erased
  -- What version 2 of log entries adds: the two canonical texts that are hashed, and copies of what searches compare.
  -- Null in an event of version 1, which the service still writes for every event without a field of version 2.
  context json,
  context_identity json,
  outcome text collate "C",
  actor_type text collate "C",
  correlation_id text collate "C",
  on_behalf_of text[] collate "C",
  primary key (tenant_id, retention_class, id),
  -- No event has salts that no segment needs: no reader of the API would ever see them.
  constraint salts_of_segments check (octet_length(salts) = 48
    + case when context is not null or erased->>'context' is not null then 16 else 0 end
    + case when before is not null or after is not null or erased->>'state' is not null then 16 else 0 end)
) partition by range (retention_class, id);

alter table audit_events enable row level security;
create policy tenant_only on audit_events for select to indelible_reader
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy any_tenant on audit_events for insert to indelible_writer with check (true);
create policy any_tenant_lookup on audit_events for select to indelible_writer using (true);

grant select on audit_events to indelible_reader;
grant insert, select on audit_events to indelible_writer;
