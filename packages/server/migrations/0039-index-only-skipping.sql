-- The indexes of lists have the retention class, so that PostgreSQL skips the events before a numbered page without
-- reading them: it checks the class of each. On a table with ten million events this takes minutes.
drop index audit_events_by_actor, audit_events_by_email, audit_events_by_action, audit_events_by_resource_type,
  audit_events_by_resource, audit_events_by_category, audit_events_cross_tenant, audit_events_by_correlation;

create index audit_events_by_actor on audit_events (tenant_id, actor_id, id) include (retention_class);
create index audit_events_by_email on audit_events (tenant_id, actor_email_key, id) include (retention_class);
create index audit_events_by_action on audit_events (tenant_id, action, id) include (retention_class);
create index audit_events_by_resource_type on audit_events (tenant_id, resource_type, id) include (retention_class);
create index audit_events_by_resource on audit_events (tenant_id, resource_id, id) include (retention_class);
create index audit_events_by_category on audit_events (tenant_id, category, id) include (retention_class);
create index audit_events_cross_tenant on audit_events (tenant_id, id) include (retention_class) where cross_tenant;
create index audit_events_by_correlation on audit_events (tenant_id, correlation_id, id) include (retention_class)
  where correlation_id is not null;
