-- A database of an earlier build has functions that no process calls any more: record_events does what they did. A new
-- database has none of them.
drop function if exists insert_events, append_log, keep_late, open_log(uuid, smallint),
  note_sources(uuid, uuid[], text[], bigint[], timestamptz);
