-- Headers of the receiver's own, which usually carry a credential: {name: base64 of the sealed value}.
alter table webhooks add column headers json not null default '{}';
grant update (headers) on webhooks to indelible_writer;
