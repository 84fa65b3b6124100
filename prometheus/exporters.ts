// What alerts and dashboards use of other people's metrics; a test holds them to this list.
export const exported: Readonly<Record<string, readonly string[]>> = {
  prometheus: ['up', 'ALERTS', 'ALERTS_FOR_STATE'],
  // https://github.com/oliver006/redis_exporter
  redis_exporter: ['redis_up', 'redis_memory_used_bytes', 'redis_memory_max_bytes', 'redis_evicted_keys_total'],
  // https://github.com/prometheus-community/postgres_exporter
  postgres_exporter: [
    'pg_up',
    'pg_settings_max_connections',
    'pg_stat_database_blks_hit',
    'pg_stat_database_blks_read',
    'pg_stat_database_numbackends',
    'pg_stat_database_xact_commit',
    'pg_stat_database_xact_rollback',
  ],
  // https://grafana.com/docs/k6/latest/results-output/real-time/prometheus-remote-write/
  k6: ['k6_dropped_iterations_total', 'k6_http_req_duration_p99', 'k6_http_reqs_total', 'k6_iterations_total'],
}
