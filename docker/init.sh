#!/bin/sh
# Makes the appliance's secrets, once, and gives each service the files that it needs, each readable by that service alone.
# The secrets themselves stay in a volume that no other service mounts; what is derived from them is written at every start.
set -eu
umask 077
kept=/secrets/kept

if [ ! -e "$kept/postgres" ] && ls /database/*/*/PG_VERSION >/dev/null 2>&1; then
  echo 'The database volume has data, but the volume with its passwords (secrets) is gone: bring that back, or remove the database volume and restore a backup.' >&2
  exit 1
fi

mkdir -p "$kept"
for name in postgres quicklink-db exporter-db backup-db standby-db redis quicklink-redis exporter-redis replica-redis grafana; do
  [ -s "$kept/$name" ] && continue
  head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$kept/$name.new"
  mv "$kept/$name.new" "$kept/$name"
done
secret() { cat "$kept/$1"; }
sha() { secret "$1" | sha256sum | cut -d ' ' -f 1; }

# <user:group> <file>, the text on stdin. Whole or not at all: a service may be reading it.
give() {
  cat >"/secrets/$2.new"
  chown "$1" "/secrets/$2.new"
  chmod 0400 "/secrets/$2.new"
  mv "/secrets/$2.new" "/secrets/$2"
}

postgres=${POSTGRES_USER_ID:-999:999}
secret postgres | give "$postgres" postgres/superuser
secret quicklink-db | give "$postgres" postgres/quicklink
secret exporter-db | give "$postgres" postgres/exporter
secret backup-db | give "$postgres" postgres/backup
secret backup-db | give "$postgres" backup/password
secret standby-db | give "$postgres" postgres/standby
secret standby-db | give "$postgres" standby/password
secret exporter-db | give 65534:65534 postgres-exporter/password
secret grafana | give 472:0 grafana/admin
printf 'postgres://quicklink:%s@postgres:5432/quicklink' "$(secret quicklink-db)" | give 1000:1000 quicklink/database-url
printf 'postgres://quicklink:%s@standby:5432/quicklink' "$(secret quicklink-db)" | give 1000:1000 quicklink/database-read-url
printf 'redis://quicklink:%s@redis:6379' "$(secret quicklink-redis)" | give 1000:1000 quicklink/redis-url
secret quicklink-redis | give 1000:1000 quicklink/redis-password
printf '{"redis://exporter@redis:6379":"%s"}' "$(secret exporter-redis)" | give 59000:59000 redis-exporter/passwords.json

# Nobody without a name. QuickLink may what redis/quicklink.acl says; the exporter only looks; a `replica` of a cluster follows; `operator` is
# for people and `make doctor`.
redis=${REDIS_USER_ID:-999:999}
give "$redis" redis/users.acl <<ACL
user default off
user quicklink on #$(sha quicklink-redis) $(grep -v '^#' /quicklink.acl)
user exporter on #$(sha exporter-redis) resetkeys resetchannels -@all +ping +info +config|get +latency|latest +latency|histogram +slowlog|get +slowlog|len +memory|stats +client|setname +client|setinfo +hello
user replica on #$(sha replica-redis) resetkeys resetchannels -@all +psync +replconf +ping
user operator on #$(sha redis) ~* &* +@all
ACL
secret redis | give "$redis" redis/operator
secret replica-redis | give "$redis" redis/replica

# Dumps are secrets, too, and so is the snapshot of the cache.
chown "$postgres" /backups
chown "$redis" /cache
chmod 0700 /backups /cache

# A folder of their own: the root of a new volume belongs to root, and must be walkable.
chmod 0711 /secrets/postgres /secrets/backup /secrets/standby /secrets/postgres-exporter /secrets/grafana /secrets/quicklink /secrets/redis-exporter /secrets/redis
