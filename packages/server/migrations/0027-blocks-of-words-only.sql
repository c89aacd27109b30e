-- Statistics count events. Blocks of words lose what only counting read: values, times, and how far back they are whole.
-- Their words stay, so no search waits for new blocks.
delete from word_lists l using word_blocks b
  where b.tenant_id = l.tenant_id and b.first = l.first
    and l.list >= case when b.entries <= 256 then 16 when b.entries <= 4096 then 128 else 1024 end;
alter table word_blocks drop column if exists times;
alter table word_heads drop column if exists whole_from_ms;
drop function if exists ids_before(bytea, bigint);
