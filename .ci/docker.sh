#!/usr/bin/env bash
# A Docker engine with compose for a CI machine that has none: `eval "$(.ci/docker.sh start)"`, later `.ci/docker.sh stop`.
# Where an engine with compose answers already, that one is used, and `stop` leaves it alone. One of ours that runs already
# is used too: QUICKLINK_CI_ENGINE=kept says that somebody else will stop it.
set -euo pipefail
home=/var/lib/quicklink-ci
run=/run/quicklink-ci
# A socket and a configuration of its own: nothing else on the machine begins to use Docker because of this one.
own="export DOCKER_HOST=unix://$run/docker.sock DOCKER_CONFIG=$home/config"

say() { echo "$*" >&2; }
answers() { docker version >/dev/null 2>&1 && docker compose version >/dev/null 2>&1; }

# Debian 12 has no compose v2. The plugins of the next release are static enough to run here; the mirror is the machine's.
plugins() {
  local dir=$home/config/cli-plugins lists=$home/apt mirror
  [ -x "$dir/docker-compose" ] && [ -x "$dir/docker-buildx" ] && return
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -oE '(https?|copy|file)://[^ ]+' | grep -E '/debian/?$' | head -1 || true)
  mkdir -p "$lists/state/lists/partial" "$lists/cache/archives/partial" "$dir"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?no Debian mirror found in the apt sources of this machine} trixie main" \
    >"$lists/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State=$lists/state"
    -o "Dir::Cache=$lists/cache" -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2
  (cd "$lists" && rm -f ./*.deb && apt-get "${options[@]}" download docker-compose docker-buildx >&2)
  for deb in "$lists"/*.deb; do dpkg -x "$deb" "$lists/unpacked"; done
  install "$lists"/unpacked/usr/libexec/docker/cli-plugins/* "$dir/"
  rm -rf "$lists"
}

start() {
  if answers; then
    say 'A Docker engine with compose answers already: it is used.'
    return
  fi
  eval "$own"
  if ! command -v dockerd >/dev/null; then
    say 'Installing a Docker engine from the distribution'
    apt-get -qq update >&2
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends docker.io iptables >/dev/null ||
      { say 'docker.io cannot be installed: see above.'; exit 1; }
  fi
  mkdir -p "$run" "$home/config"
  plugins
  if docker version >/dev/null 2>&1; then
    own+=' QUICKLINK_CI_ENGINE=kept'
  else
    setsid dockerd --host "$DOCKER_HOST" --data-root "$home/docker" --exec-root "$run/exec" --pidfile "$run/docker.pid" \
      --storage-driver overlay2 >"$run/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 100); do docker version >/dev/null 2>&1 && break; sleep 0.3; done
  fi
  answers || { say "The engine did not start: $(tail -3 "$run/dockerd.log")"; exit 1; }
  say "$(docker version --format 'Docker engine {{.Server.Version}}'), compose $(docker compose version --short)"
  echo "$own"
}

stop() {
  local pid
  pid=$(cat "$run/docker.pid" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
}

case "${1:-}" in
  start) start ;;
  stop) stop ;;
  *) say 'Usage: .ci/docker.sh start|stop'; exit 2 ;;
esac
