# The commands of QuickLink. Each is an npm script, because npm finds the Node 24 that comes with the packages first,
# whatever the system's own Node is. NAME, MODE, PORT and the like are passed on by the environment.
.DEFAULT_GOAL := help
.PHONY: up down logs status settings doctor test-alert backup restore service service-remove upgrade owner-key sign-in new-owner-key grafana-password test images check check-alerts bench bench-peers bench-compare bench-guard load load-short load-compare k6 drill drills drills-can-fail game-day help install
export

# npm writes this file last, also after `npm install`: it is older than the lock file only when packages are missing.
installed := node_modules/.package-lock.json

up: install ## start QuickLink and all it needs; returns when it is ready (PORT, OPS_PORT, WORKERS, … from the environment)
	@npm run --silent up

down: install ## stop it; the data stays
	@npm run --silent down

logs: install ## follow its log
	@npm run --silent logs

status: install ## what is up: versions, ports, breaker states
	@npm run --silent status

settings: install ## what is set, from where, and what nothing reads (NAME=value make up remembers, NAME= make up forgets)
	@npm run --silent appliance -- settings

doctor: install ## the production checklist, asked of the running appliance: ok or not ok, with the reason
	@npm run --silent appliance -- doctor

test-alert: install ## send an alert through to whoever is told (ALERT_WEBHOOK_URL, ALERT_EMAIL)
	@npm run --silent appliance -- test-alert

backup: install ## a copy of the database into .quicklink/backups, while it runs
	@npm run --silent appliance -- backup

restore: install ## bring one back: FILE=.quicklink/backups/…
	@npm run --silent appliance -- restore

service: install ## without Docker: a systemd unit, so that it is there after a reboot (DRY=yes prints it)
	@npm run --silent appliance -- service

service-remove: install ## take the unit away
	@npm run --silent appliance -- service-remove

upgrade: install ## after git pull: the new version runs (Docker: pulled, built, with docker-compose.replicas.yml one after the other)
	@npm run --silent appliance -- upgrade

owner-key: install ## print the key of the owner
	@npm run --silent appliance -- owner-key

sign-in: install ## print a link that signs the owner in to the console once, within five minutes
	@npm run --silent appliance -- sign-in

new-owner-key: install ## replace it (Docker); the old one stops working
	@npm run --silent appliance -- new-owner-key

grafana-password: install ## print the password of Grafana's admin (Docker)
	@npm run --silent appliance -- grafana-password

test: install ## every test, on a real Postgres and a real Redis that it starts itself
	@npm run --silent test

images: install ## write the digest of every image behind its tag, as the registry knows it today (REGISTRY=… for a mirror)
	@npm run --silent images

check: install ## types, lint, format, dead code, import rules, unit tests; needs no service
	@npm run --silent check

check-alerts: install ## the alert rules, a case for each, and the dashboards' queries, by the promtool of Prometheus 3
	@npm run --silent check-alerts

bench: install ## QuickLink beside bare servers: CPU per request, latency; some minutes (ONLY=visitors, BENCH=full, BENCH=profile)
	@npm run --silent bench

bench-peers: install ## QuickLink beside nginx, HAProxy, Redis, and servers of yours (PEERS=name=http://host:port/code@pid)
	@npm run --silent bench-peers

bench-compare: install ## two of its reports side by side: A=loadtest/reports/…/report.json B=…
	@npm run --silent bench-compare

bench-guard: install ## for CI: fails when what visitors send costs a fifth more than it should, beside a bare node:http server
	@npm run --silent bench-guard

load: install ## load a running QuickLink: NAME=steady, hot-key, spike, … (RATE, SECONDS, DATASET; SHORT=yes)
	@npm run --silent load

load-short: install ## the short form of every scenario, one after the other
	@NAME=all SHORT=yes npm run --silent load

load-compare: install ## two reports of load tests side by side: A=loadtest/reports/…/report.json B=…
	@npm run --silent load-compare

k6: .cache/k6/k6 ## build the k6 that the load tests are written for (needs Go; a k6 on the PATH does as well)

# In a copy, because Go writes its sums beside the pin.
.cache/k6/k6: loadtest/k6/go.mod
	@mkdir -p .cache/k6 && cp loadtest/k6/go.mod .cache/k6/go.mod
	@echo 'Building k6 (a minute or two)'
	@cd .cache/k6 && go build -mod=mod -trimpath -o k6 go.k6.io/k6/v2

drill: install ## a failure drill on a QuickLink of its own: NAME=redis-refused (SHORT=yes, MODE=docker)
	@npm run --silent drill

drills: install ## all of them, with one summary
	@NAME=all npm run --silent drill

drills-can-fail: install ## each drill against a promise that is broken on purpose: it must say FAIL (NAME=stampede)
	@npm run --silent drills-can-fail

game-day: install ## in random order; which fault it is stays hidden until the end
	@NAME=game-day npm run --silent drill

help: ## this list
	@awk -F ':[^#]*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(installed)

$(installed): package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || \
	  { echo 'QuickLink needs Node 20 or later with npm 10 or later to install itself: https://nodejs.org' >&2; exit 1; }
	@echo 'Installing packages (npm ci): a minute or two, the first time'
	@npm ci --include=dev --include=optional --loglevel=error --no-audit --no-fund >/dev/null
	@touch $@
