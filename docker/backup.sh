#!/bin/sh
# A dump every night, the newest BACKUP_KEEP of them kept. The first one is made at once. By a role that reads all rows and
# may nothing else.
#   backup.sh nightly   the service's loop
#   backup.sh fresh     its health: the newest dump is younger than 26 hours
#   backup.sh now       one more, to the standard output
set -eu
umask 077
cd /backups

now() {
  PGPASSWORD=$(cat /run/quicklink/password)
  export PGPASSWORD
  # Without the salts of visitors: with one, whoever knows an address could ask whether it was here.
  exec pg_dump --exclude-table-data=visit_salts --host=postgres --username=backup --format=custom quicklink
}

# Complete or not there: a dump has its name only when pg_dump has ended well.
dump() {
  name=quicklink-$(date -u +%Y%m%dT%H%M%SZ).dump
  rm -f ./*.unfinished
  (now) >"$name.unfinished" || return 1
  mv "$name.unfinished" "$name"
  echo "wrote $name ($(wc -c <"$name") bytes)"
  # Names sort by time.
  for old in $(ls -1 quicklink-*.dump | sort -r | tail -n "+$((BACKUP_KEEP + 1))"); do rm -f "$old"; done
}

fresh() { [ -n "$(find . -name 'quicklink-*.dump' -mmin -1560 | head -n 1)" ]; }

case "$1" in
  fresh) fresh ;;
  now) now ;;
  nightly)
    trap 'exit 0' TERM INT
    while :; do
      today=$(date -u +%Y%m%d)
      if ! fresh || { [ "$(date -u +%H)" = "$BACKUP_HOUR" ] && ! ls "quicklink-$today"T"$BACKUP_HOUR"*.dump >/dev/null 2>&1; }; then
        dump || echo 'The dump failed: it is tried again in a minute.' >&2
      fi
      # In the background, so that the signal to stop is not kept waiting.
      sleep 60 & wait $!
    done
    ;;
esac
