-- Blocks now have the times of their events and the values that statistics count: the worker makes them again.
truncate word_heads, word_blocks, word_lists;
alter table word_blocks add column times bytea not null; -- milliseconds, in the order of ids
-- Retention has removed no event that happened since then.
alter table word_heads add column whole_from_ms bigint not null default 0;
