-- What version 2 of log entries adds to an event. Null in an event of version 1, which the service still
-- writes for every event without a field of version 2.

do $$ declare
  events name;
begin
  for events in select 'audit_events' union all
      select partition_name(class, first) from detached_partitions() loop
    -- The two canonical texts that are hashed, and copies of what searches compare.
    execute format('alter table %I
      add column context json, add column context_identity json,
      add column outcome text collate "C", add column actor_type text collate "C",
      add column correlation_id text collate "C", add column on_behalf_of text[] collate "C"', events);
    -- 16 bytes a segment. Rows that are there are left alone, as in 0012.
    execute format('alter table %I drop constraint salts_of_segments', events);
    execute format('alter table %I add constraint salts_of_segments check (octet_length(salts) = 48
      + case when context is not null or erased->>''context'' is not null then 16 else 0 end
      + case when before is not null or after is not null or erased->>''state'' is not null then 16 else 0 end)
      not valid', events);
  end loop;
end $$;

alter table erasures drop constraint erasures_segment_check;
alter table erasures add constraint erasures_segment_check
  check (segment in ('change', 'context', 'identity', 'state'));
