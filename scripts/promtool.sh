#!/usr/bin/env bash
# promtool of the pinned Prometheus: the one on the PATH if its major version is right (2 counts the left end of a range
# in, 3 does not, so the same test gives other numbers), else one that was built before, else it is built from its Go
# module.
set -euo pipefail

version=3.13.5
module="github.com/prometheus/prometheus@v0.$(echo "$version" | awk -F. '{ printf "%d%02d.%d", $1, $2, $3 }')"
root=$(cd "$(dirname "$0")/.." && pwd)
built="$root/.cache/promtool-$version"

if command -v promtool >/dev/null && promtool --version 2>&1 | grep -q "^promtool, version ${version%%.*}\."; then
  exec promtool "$@"
fi
if [ ! -x "$built" ]; then
  go=$(command -v go || true)
  [ -n "$go" ] || [ ! -x /usr/local/go/bin/go ] || go=/usr/local/go/bin/go
  if [ -z "$go" ]; then
    echo "Install promtool ${version%%.*} (it comes with Prometheus: https://prometheus.io/download) or Go 1.21 or later, from which it is built." >&2
    exit 1
  fi
  echo "Building promtool $version from its Go module (once, some minutes)" >&2
  # Its go.mod has replace directives, so `go install module@version` refuses: it is built in the module's own folder.
  source=$(cd / && "$go" mod download -json "$module" | sed -n 's/^\s*"Dir": "\(.*\)",\?$/\1/p')
  mkdir -p "$root/.cache"
  # Of the service discoveries only DNS: the clouds' libraries are most of the build.
  (cd "$source" && GOWORK=off nice "$go" build -trimpath -tags remove_all_sd,enable_dns_sd -o "$built.$$" \
    -ldflags "-s -w -X github.com/prometheus/common/version.Version=$version" ./cmd/promtool) >&2
  mv "$built.$$" "$built"
fi
exec "$built" "$@"
