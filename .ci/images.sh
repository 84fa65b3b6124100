#!/usr/bin/env bash
# `eval "$(.ci/images.sh)"`: every image of the compose files by its tag alone. A stand-in has the name and the tag of what it
# stands in for, and never its digest.
set -euo pipefail
cd "$(dirname "$0")/.."
sed -nE 's/.*\$\{([A-Z0-9_]+_IMAGE):-([^}@]+).*/export \1=\2/p' docker-compose*.yml | sort -u
