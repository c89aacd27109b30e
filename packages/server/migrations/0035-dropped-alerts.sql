-- Findings above the limit of alerts in an hour, since the rule began.
alter table alert_rules add dropped bigint not null default 0;
grant update (dropped) on alert_rules to indelible_writer;
