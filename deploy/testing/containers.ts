import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/**
 * Podman with a store of its own, which `close` removes. No registry is asked: images that stand
 * for the bases of the Dockerfile are made from Debian's packages, and from this Node and npm.
 */
export class Containers {
  readonly folder = mkdtempSync('/var/tmp/indelible-containers-');
  readonly #store = ['root', 'runroot'].map((name) => `--${name}=${join(this.folder, name)}`);

  async podman(...args: string[]): Promise<string> {
    // crun, podman's default, refuses the cgroups of a machine that has both versions of them.
    const { stdout } = await run('podman', [...this.#store, '--runtime=runc', ...args]);
    return stdout.trim();
  }

  async #build(tag: string, context: string, ...options: string[]): Promise<void> {
    const fixed = ['--isolation=chroot', '--network=host', '--pull-never', '--layers=false'];
    await this.podman('build', ...fixed, '--format=docker', `--tag=${tag}`, ...options, context);
  }

  /** Debian's packages as files: neither their scripts nor what they recommend. */
  async makeDebian(tag: string): Promise<void> {
    const tar = join(this.folder, 'debian.tar');
    const packages = 'base-files,libc6,libstdc++6,dash,coreutils,findutils';
    await run('mmdebstrap', ['--variant=extract', `--include=${packages}`, 'trixie', tar]);
    await this.podman('import', tar, tag);
  }

  async makeNode(tag: string, debian: string): Promise<void> {
    const context = join(this.folder, 'node');
    const npm = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
    mkdirSync(join(context, 'local/bin'), { recursive: true });
    cpSync(realpathSync(process.execPath), join(context, 'local/bin/node'));
    cpSync(join(npm, 'npm'), join(context, 'local/lib/node_modules/npm'), { recursive: true });
    writeFileSync(
      join(context, 'Dockerfile'),
      `FROM ${debian}
       COPY local /usr/local
       RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm`,
    );
    await this.#build(tag, context);
  }

  /** Builds the Dockerfile as it stands, with this machine's npm cache and certificates. */
  async makeImage(tag: string): Promise<void> {
    const npmrc = join(this.folder, 'npmrc');
    const certificates = '/etc/ssl/certs';
    const settings = ['cache=/npm', 'prefer-offline=true'];
    settings.push(`cafile=${certificates}/ca-certificates.crt`);
    writeFileSync(npmrc, settings.join('\n'));
    const cache = join(homedir(), '.npm');
    mkdirSync(cache, { recursive: true });
    const volumes = [`${cache}:/npm`, `${npmrc}:/usr/local/etc/npmrc:ro`];
    volumes.push(`${certificates}:${certificates}:ro`);
    const file = join(dirname(import.meta.dirname), 'Dockerfile');
    const options = volumes.map((volume) => `--volume=${volume}`);
    await this.#build(tag, root, `--file=${file}`, ...options);
  }

  async close(): Promise<void> {
    await this.podman('rm', '--all', '--force', '--volumes').catch(() => {});
    // Podman mounts its store on itself, and leaves it so when a container has just ended.
    await run('umount', ['--lazy', join(this.folder, 'root/overlay')]).catch(() => {});
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
