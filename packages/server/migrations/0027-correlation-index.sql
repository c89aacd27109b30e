-- The events of one request or job, in list order. Events without a correlation id do not pay for it.
create index audit_events_by_correlation on audit_events (tenant_id, correlation_id, id)
  where correlation_id is not null;
