import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type Environment, readConfig } from '../config.ts';
import { signingKeyFileOf } from '../crypto/signer.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { messageOf } from '../postgres/embedded/error-code.ts';
import { clusterOwner } from '../postgres/embedded/folders.ts';
import { runningServerUrl } from '../postgres/embedded/running-server.ts';
import { readSecretFile } from '../postgres/embedded/secret-file.ts';
import { visitEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { secretFiles } from './backup-folder.ts';
import { freeBytes } from './disk-space.ts';
import { diagnoseDatabase, diagnoseOwner } from './doctor-database.ts';
import { diagnoseLog } from './doctor-log.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { diagnoseProcesses } from './process-findings.ts';

const nodeMajorMin = 24;

/**
 * Checks everything that an installation depends on. Changes nothing; starts an embedded database
 * for the check if it is not running. Findings are returned, not thrown.
 */
export async function diagnose(env: Environment): Promise<Finding[]> {
  const node = diagnoseNode(process.versions.node);
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    return [node, fail('environment', messageOf(error))];
  }
  const environment: Finding = ok('environment', describe(config));
  const folder = [...diagnoseFolder(config.dataDir), await diagnoseDisk(config)];
  return [node, environment, ...folder, ...(await diagnoseDatabases(config))];
}

/** `version` as `process.versions.node` gives it. */
export function diagnoseNode(version: string): Finding {
  const fine = Number.parseInt(version, 10) >= nodeMajorMin;
  const wanted = fine ? '' : `; ${nodeMajorMin} or later is needed: start by npm, which brings it`;
  return { check: 'node', level: fine ? 'ok' : 'fail', detail: `version ${version}${wanted}` };
}

function describe({ host, port, databaseUrl }: Config): string {
  const database = databaseUrl === null ? 'the embedded database' : 'the database of DATABASE_URL';
  return `to serve at ${host}:${port} from ${database}`;
}

/** Whether the data folder is usable, and its secrets are readable by its owner only. */
export function diagnoseFolder(dataDir: string): Finding[] {
  const check = 'data folder';
  if (!existsSync(dataDir)) {
    return [ok(check, `${dataDir} is created by the first start`)];
  }
  const found = secretFiles.map((name) => join(dataDir, name)).filter((path) => existsSync(path));
  return [folderFinding(check, dataDir), ...found.map(secretFinding)];
}

/** With less, PostgreSQL soon finds no room for a segment of its write-ahead log. */
const fullDiskBytes = 16 * 2 ** 20;

/** Whether there is room for exports, and in the end for recording. */
export async function diagnoseDisk(
  config: Pick<Config, 'dataDir' | 'objectStoreUrl' | 'diskBytesMin'>,
): Promise<Finding> {
  const free = await freeBytes(config);
  const level = free >= config.diskBytesMin ? 'ok' : free >= fullDiskBytes ? 'warn' : 'fail';
  const detail = Number.isFinite(free)
    ? `${Math.round(free / 2 ** 20)} MiB are free; exports need DISK_FREE_MIB_MIN of them, ` +
      'and recording on the embedded database ends with the last'
    : 'DATA_DIR does not exist yet';
  return { check: 'disk', level, detail };
}

function folderFinding(check: string, dataDir: string): Finding {
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return fail(check, `${dataDir} cannot be used: ${messageOf(error)}`);
  }
  const { mode } = statSync(dataDir);
  if ((mode & 0o066) === 0) return ok(check, dataDir);
  return warn(check, `${dataDir} is open to other users: chmod 700 it`);
}

function secretFinding(path: string): Finding {
  const check = 'secret file';
  try {
    readSecretFile(path);
    return ok(check, `${path} is readable by its owner alone`);
  } catch (error) {
    return fail(check, messageOf(error));
  }
}

async function diagnoseDatabases(config: Config): Promise<Finding[]> {
  const { databaseUrl, databaseOwnerUrl } = config;
  if (databaseUrl === null) return diagnoseEmbedded(config);
  const findings = await diagnoseServing(databaseUrl, config);
  if (databaseOwnerUrl !== null) findings.push(await diagnoseOwner(databaseOwnerUrl));
  return findings;
}

async function diagnoseServing(servingUrl: string, config: Config): Promise<Finding[]> {
  const findings = await diagnoseDatabase(servingUrl, Date.now());
  // Without all tables and roles the logs cannot be checked.
  const isUsable = findings.some(({ check, level }) => check === 'migrations' && level === 'ok');
  if (!isUsable) return findings;
  const objects = openObjectStore(config.objectStoreUrl);
  const log = await diagnoseLog(servingUrl, signingKeyFileOf(config), objects);
  return [...findings, ...log, ...(await diagnoseProcesses(servingUrl))];
}

async function diagnoseEmbedded(config: Config): Promise<Finding[]> {
  const { dataDir } = config;
  const check = 'database';
  try {
    if (clusterOwner(dataDir) === undefined) {
      return [ok(check, 'is created by the first start')];
    }
    const running = runningServerUrl(dataDir, 'serving');
    if (running !== null) return await diagnoseServing(running, config);
    return await visitEmbeddedPostgres(dataDir, (url) => diagnoseServing(url, config));
  } catch (error) {
    return [fail(check, messageOf(error))];
  }
}
