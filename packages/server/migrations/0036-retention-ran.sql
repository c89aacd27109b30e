-- Metrics tell when retention last ran, whichever process or command ran it.
grant select (seen_at) on retention_clock to indelible_writer;
