-- The guard looks at more than the tables that it guards: a round signs what all logs have come to.

-- What is wrong with the object store, first finding first; null once the logs were reopened.
alter table log_rounds add column alarm text;

-- As before, but a round may leave numbers out: those whose object somebody else has written.
create or replace function publish_round(
  this_round bigint, tenants uuid[], log_ids uuid[], sizes bigint[], roots bytea[], notes text[], at timestamptz
) returns void language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  update log_rounds set round = this_round where round < this_round;
  if not found then
    raise exception 'round % does not follow the last one', this_round using errcode = 'object_not_in_prerequisite_state';
  end if;
  insert into log_checkpoints
    select u.tenant_id, u.log_id, u.size, u.root, u.note, this_round, at
    from unnest(tenants, log_ids, sizes, roots, notes) as u(tenant_id, log_id, size, root, note)
    on conflict (tenant_id) do update set log_id = excluded.log_id, size = excluded.size,
      root = excluded.root, note = excluded.note, round = excluded.round, signed_at = excluded.signed_at
      where log_checkpoints.log_id <> excluded.log_id or log_checkpoints.size <= excluded.size;
end $$;

create function note_alarm(sentence text) returns void
language sql security definer set search_path = indelible, pg_temp as $$
  update log_rounds set alarm = sentence where alarm is null
$$;

-- As before, but a log that has lost its head is not begun once more beside its own entries.
create or replace function open_log(tenant uuid, class smallint) returns void
language plpgsql security definer set search_path = indelible, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('indelible.plans'));
  if not exists (select from log_heads where tenant_id = tenant) and (
      exists (select from log_tail where tenant_id = tenant)
      or exists (select from log_tiles where tenant_id = tenant)
      or exists (select from log_checkpoints where tenant_id = tenant)) then
    raise exception 'the log has no head' using errcode = 'IND02';
  end if;
  insert into log_heads (tenant_id, retention_class) values (tenant, class)
  on conflict (tenant_id) do update set retention_class = excluded.retention_class,
    other_classes = (select array_agg(distinct c order by c)
      from unnest(log_heads.other_classes || log_heads.retention_class) c where c <> excluded.retention_class)
    where log_heads.retention_class <> excluded.retention_class;
end $$;

revoke execute on function note_alarm from public;
grant execute on function note_alarm to indelible_writer;
