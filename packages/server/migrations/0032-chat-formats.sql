-- Messages for people: Slack, Microsoft Teams, PagerDuty.
alter table webhooks drop constraint webhooks_format_check;
alter table webhooks add constraint webhooks_format_check check (format in
  ('webhook', 'splunk_hec', 'datadog', 'elastic', 'generic', 'slack', 'teams', 'pagerduty'));
