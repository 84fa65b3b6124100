// The compose file's networks, from each service's point of view. A test compares it with the files, and the acceptance with
// what really opens. A network knows no direction: who is asked could also ask.

/** With the profiles that no `up` starts (load, drill), as they are when they run. */
export const whoReachesWhom: Readonly<Record<string, string>> = {
  quicklink: 'fault-proxy k6 postgres prometheus redis',
  redis: 'backup fault-proxy postgres postgres-exporter quicklink redis-exporter roles',
  postgres: 'backup fault-proxy postgres-exporter quicklink redis redis-exporter roles',
  'redis-exporter': 'backup postgres postgres-exporter prometheus redis roles',
  'postgres-exporter': 'backup postgres prometheus redis redis-exporter roles',
  roles: 'backup postgres postgres-exporter redis redis-exporter',
  backup: 'postgres postgres-exporter redis redis-exporter roles',
  prometheus: 'alertmanager grafana k6 postgres-exporter quicklink redis-exporter',
  alertmanager: 'grafana prometheus',
  grafana: 'alertmanager prometheus',
  k6: 'prometheus quicklink',
  'fault-proxy': 'postgres quicklink redis',
  init: '',
}
