#!/bin/sh
# At every start, so that the database of an earlier version has them, too: who may what. QuickLink's role owns its database,
# the exporter's sees figures, the backup's reads all rows and writes none, the standby's follows; none is a superuser.
# Passwords come from files, and go to psql by its input: no command line shows them.
set -eu
secret() { cat "/run/quicklink/$1"; }
PGPASSWORD=$(secret superuser)
export PGPASSWORD
psql --set=ON_ERROR_STOP=1 --quiet --no-psqlrc --host=postgres --username=postgres --dbname=postgres <<SQL
select format('create role %I login', name) from unnest(array['quicklink', 'exporter', 'backup', 'standby']) as name
  where not exists (select from pg_roles where rolname = name) \gexec
alter role quicklink nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '$(secret quicklink)';
alter role exporter connection limit 5 password '$(secret exporter)';
alter role backup connection limit 5 password '$(secret backup)';
alter role standby replication connection limit 5 password '$(secret standby)';
-- What a standby has not fetched yet is kept for it, from its first connection on (max_slot_wal_keep_size). One that was away for
-- longer needs a new copy, and that a new slot.
select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = 'standby' and not active and wal_status = 'lost' \g /dev/null
select pg_create_physical_replication_slot('standby') where not exists (select from pg_replication_slots where slot_name = 'standby') \g /dev/null
grant pg_monitor to exporter;
grant pg_read_all_data to backup;
select 'create database quicklink owner quicklink'
  where not exists (select from pg_database where datname = 'quicklink') \gexec
revoke connect, temporary on database quicklink from public;
grant connect on database quicklink to exporter, backup;
\connect quicklink
set client_min_messages = warning;
create extension if not exists pg_stat_statements;
SQL
