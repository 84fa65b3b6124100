#!/bin/sh
# A Postgres that follows the one called `postgres`. The first start copies it; after that what is missing is fetched.
set -eu
umask 077
PGDATA=${PGDATA:-/var/lib/postgresql/18/docker}
export PGDATA PGPASSFILE=/tmp/primary
# By a file: no command line and no environment shows it.
printf 'postgres:5432:*:standby:%s\n' "$(cat /run/quicklink/password)" >"$PGPASSFILE"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # One that was interrupted begins anew. Beside it, so that half a copy is never taken for a whole one.
  rm -rf "$PGDATA.new"
  mkdir -p "$(dirname "$PGDATA")"
  pg_basebackup --host=postgres --username=standby --no-password --slot=standby --checkpoint=fast --pgdata="$PGDATA.new"
  touch "$PGDATA.new/standby.signal"
  rm -rf "$PGDATA"
  mv "$PGDATA.new" "$PGDATA"
fi

exec postgres -c config_file=/etc/postgresql/postgresql.conf -c hba_file=/etc/postgresql/pg_hba.conf \
  -c primary_slot_name=standby \
  -c "primary_conninfo=host=postgres user=standby passfile=$PGPASSFILE application_name=standby"
