#!/bin/sh
# Makes a Redis Cluster of the nodes that it is given, once: half of them are primaries, each with a replica. At later starts it
# tells the nodes where the others are by now: a container that is made anew may have another address.
set -eu
REDISCLI_AUTH=$(cat /run/quicklink/operator)
export REDISCLI_AUTH
first=$1

# <node> <command>…
ask() {
  node=$1
  shift
  redis-cli -e --user operator -h "$node" "$@"
}
address() { getent ahostsv4 "$1" | sed -n '1s/ .*//p'; }

if ask "$first" cluster info | grep -q '^cluster_known_nodes:1[^0-9]'; then
  all=
  for node in "$@"; do all="$all $(address "$node"):6379"; done
  # shellcheck disable=SC2086
  redis-cli --user operator --cluster create $all --cluster-replicas 1 --cluster-yes
else
  for node in "$@"; do
    [ "$node" != "$first" ] || continue
    ask "$node" cluster meet "$(address "$first")" 6379
    ask "$first" cluster meet "$(address "$node")" 6379
  done
fi

left=120
for node in "$@"; do
  until ask "$node" cluster info | grep -q '^cluster_state:ok'; do
    left=$((left - 1))
    if [ "$left" = 0 ]; then
      echo "$node is in no cluster that is whole. What they hold is a cache: remove their volumes (…_redis-1 to …_redis-6), and start again." >&2
      exit 1
    fi
    sleep 0.5
  done
done
echo 'The cluster is whole.'
