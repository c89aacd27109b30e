-- The agents that used the person's token (claim `act`), nearest first, as [{"id", "externalId"?, "name"?}]. They
-- stand here because outcomes, and what a session does, are recorded after the token is gone.

alter table exports add column agents jsonb not null default '[]';
alter table restores add column agents jsonb not null default '[]';
alter table sessions add column agents jsonb not null default '[]';
