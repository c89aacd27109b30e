-- The two logins and the database, as in docs/operations/server.md. psql runs it at the first start.
\getenv app APP_PASSWORD
\getenv migrator MIGRATOR_PASSWORD
CREATE ROLE indelible_migrator LOGIN CREATEROLE PASSWORD :'migrator';
CREATE ROLE indelible_app LOGIN PASSWORD :'app';
CREATE DATABASE indelible OWNER indelible_migrator;
