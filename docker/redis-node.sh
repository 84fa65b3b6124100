#!/bin/sh
# A node of the Redis Cluster in docker-compose.cluster.yml. Its settings are in a file, because a command line is public.
set -eu
umask 077
cat >/tmp/redis.conf <<SETTINGS
include /usr/local/etc/redis/redis.conf
aclfile /run/quicklink/users.acl
maxmemory $REDIS_MAXMEMORY
dir /data
cluster-enabled yes
# One part without a primary is no reason for the others not to answer.
cluster-require-full-coverage no
# A replica takes the place of a primary that has said nothing for so long.
cluster-node-timeout 5000
masteruser replica
masterauth $(cat /run/quicklink/replica)
SETTINGS
exec redis-server /tmp/redis.conf
