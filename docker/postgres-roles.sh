#!/bin/bash
# At the first start of the database volume: QuickLink's role, which owns its database and nothing else, and a role for
# the exporter, which only looks. Passwords come from files, and go to psql by its input: no command line shows them.
set -eu
psql -v ON_ERROR_STOP=1 --quiet --username postgres --dbname postgres <<SQL
create role quicklink login password '$(cat /run/quicklink/quicklink)';
create role exporter login password '$(cat /run/quicklink/exporter)' connection limit 5;
grant pg_monitor to exporter;
create database quicklink owner quicklink;
revoke connect on database quicklink from public;
grant connect on database quicklink to exporter;
\connect quicklink
create extension pg_stat_statements;
SQL
