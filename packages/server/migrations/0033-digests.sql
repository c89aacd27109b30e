-- Digests: a mail about each week or month of a tenant's log, and one a week for the operator.

-- digests_until: the end of the last period that was taken, a midnight in the tenant's time zone; null: the
-- first period is the one that is running.
alter table tenants
  add column digest text not null default 'none' check (digest in ('none', 'weekly', 'monthly')),
  add column digests_until timestamptz;

alter table installation add column digests_until timestamptz;
grant update (digests_until) on installation to indelible_writer;
