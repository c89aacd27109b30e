-- Which key made a key, a link or a session, as {"kind": "platform" | "tenant", "id": uuid}; null where
-- that was not written down yet, and for who came by a token of their own. A link hands on no scope
-- that its maker lacks; null: all that a person may have.

alter table api_keys add column made_by jsonb;
alter table viewer_links add column opened_by jsonb, add column scopes text[];
alter table sessions add column opened_by jsonb, add column scopes text[];
