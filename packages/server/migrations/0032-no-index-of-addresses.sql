-- A list by user of users by id was one list for each of their addresses, which this index told. Now it is one statement.
drop index if exists audit_events_by_actor_address;
