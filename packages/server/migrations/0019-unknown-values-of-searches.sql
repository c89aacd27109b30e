-- The persons and resources of a search that occurred in no event when it was saved, in the form of filters: {"user": ["rhea"]}.
-- Null in a search of a build that did not look for them.
alter table searches add column if not exists unknown_values json;

-- Whether any event was for this person. PostgreSQL compares the list itself with the rows, because row-level security lets no index of
-- lists do so: only events that act for people have an entry.
create index if not exists audit_events_on_behalf on audit_events (tenant_id, id) include (retention_class) where on_behalf_of is not null;
