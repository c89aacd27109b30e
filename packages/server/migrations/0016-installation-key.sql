-- A key of the installation's own, which no rotation replaces. It signs every round beside the signing
-- key, so that a backup from before a rotation still knows later rounds as those of its installation.
create table installation_key (
  only_row boolean primary key default true check (only_row),
  seed bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);
insert into installation_key default values;
grant select on installation_key to indelible_writer;
