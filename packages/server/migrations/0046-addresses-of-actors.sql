-- The addresses of an actor, for lists by user. Equal entries are stored once, so an event takes 10 bytes of it.
create index audit_events_by_actor_address on audit_events (tenant_id, actor_id, actor_email_key, retention_class);
