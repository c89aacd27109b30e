-- When whoever sends an export with the answer was last heard of: a process that was killed cannot say so.

alter table exports add column alive_at timestamptz;
grant update (alive_at) on exports to indelible_writer;
