-- The order of lists, by one value each: docs/decisions/0018-indexes-in-list-order.md says what each costs. They have the
-- retention class, so that PostgreSQL skips the events before a numbered page without reading them. `migrate` makes an index
-- of a stored table in one partition after the other, so that recording waits for those of one month, not of all.

create index audit_events_by_actor on audit_events (tenant_id, actor_id, id) include (retention_class);
create index audit_events_by_email on audit_events (tenant_id, actor_email_key, id) include (retention_class);
create index audit_events_by_action on audit_events (tenant_id, action, id) include (retention_class);
create index audit_events_by_resource_type on audit_events (tenant_id, resource_type, id) include (retention_class);
create index audit_events_by_resource on audit_events (tenant_id, resource_id, id) include (retention_class);
create index audit_events_by_category on audit_events (tenant_id, category, id) include (retention_class);
create index audit_events_cross_tenant on audit_events (tenant_id, id) include (retention_class) where cross_tenant;

-- The events of one request or job. Events without a correlation id do not pay for it.
create index audit_events_by_correlation on audit_events (tenant_id, correlation_id, id) include (retention_class)
  where correlation_id is not null;

-- The addresses of an actor, for lists by user. Equal entries are stored once, so an event takes 10 bytes of it.
create index audit_events_by_actor_address on audit_events (tenant_id, actor_id, actor_email_key, retention_class);
