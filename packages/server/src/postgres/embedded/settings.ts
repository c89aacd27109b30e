/** The port in the socket's file name; it does not listen on the network. */
export const port = 5432;

/**
 * For a machine with two cores that also runs the service. Other settings have PostgreSQL's
 * defaults; fsync, full_page_writes, synchronous_commit and autovacuum are on.
 */
const defaults: Record<string, string> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  password_encryption: 'scram-sha-256',
  max_connections: '50',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  maintenance_work_mem: '128MB',
  random_page_cost: '1.1',
  // Steady inserts: few checkpoints, each spread over minutes.
  max_wal_size: '4GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  // The binaries lack lz4, and pglz costs more processor time than it saves here.
  wal_compression: 'off',
  jit: 'off',
  autovacuum: 'on',
  // A statement over all partitions locks each of them with each of its indexes.
  max_locks_per_transaction: '1024',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Details and statements of errors repeat row contents and passwords: kept out of the log.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/**
 * Command line of `postgres`. Settings are here instead of in postgresql.conf, so that a new
 * release's settings also apply to an old cluster; `extra` overrides the defaults.
 */
export function serverArguments(
  data: string,
  socketFolder: string,
  extra: Record<string, string> = {},
): string[] {
  const settings: Record<string, string> = {
    ...defaults,
    port: String(port),
    // A list of folders: quoted, because a comma or blank in the path would end it.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    ...extra,
  };
  const assignments = Object.entries(settings).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  return ['-D', data, ...assignments];
}
