# Run inside the postgres container, with a dump on the standard input. The dump goes into a new database first: one that
# is damaged changes nothing.
#   load   the dump into quicklink_restored, with a new epoch: caches and codes of before are then known to be of before
#   swap   quicklink_restored for quicklink, whose last state is kept by the caller
set -eu
sql() { psql --username=postgres --set=ON_ERROR_STOP=1 --quiet --no-psqlrc --dbname="$1"; }

case "$1" in
  load)
    dropdb --username=postgres --if-exists --force quicklink_restored
    createdb --username=postgres --owner=quicklink quicklink_restored
    pg_restore --username=postgres --exit-on-error --dbname=quicklink_restored
    echo 'update ql_meta set epoch = gen_random_uuid()' | sql quicklink_restored
    ;;
  swap)
    sql postgres <<SQL
drop database if exists quicklink with (force);
alter database quicklink_restored rename to quicklink;
revoke connect, temporary on database quicklink from public;
grant connect on database quicklink to exporter, backup;
SQL
    ;;
esac
