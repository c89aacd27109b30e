-- The processes that serve: what must be the same in all of them is compared.

create table processes (
  id uuid primary key,
  seen_at timestamptz not null, -- every ten seconds; a row is dropped a minute after the last time
  is_worker boolean not null,
  session_secret bytea not null, -- derived from it; nothing leads back
  signing_key bytea not null, -- the public key
  clock_ahead_ms bigint not null -- of its machine's clock, against this server's
);

alter table processes enable row level security;
create policy any_process on processes to indelible_writer using (true) with check (true);
grant select, insert, update, delete on processes to indelible_writer;
