import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { documentedVariables } from '../testing/documented-variables.ts';
import { chart, helm, helmProgram, modules, rendered, type Yaml, yaml } from '../testing/tools.ts';

/* The chart, rendered by Helm and checked against the schemas of Kubernetes. */

const needed = {
  image: { repository: 'registry.example.com/indelible' },
  env: { PUBLIC_URL: 'https://audit.example.com', OBJECT_STORE_URL: 's3://audit' },
};
const from = (name: string) => [
  { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
];
const everything = {
  ...needed,
  env: { ...needed.env, TRUST_PROXY: 'uniquelocal', BACKDATED_HOURS: 48 },
  imagePullSecrets: [{ name: 'registry' }],
  catalogueConfigMap: 'catalogue',
  api: { autoscaling: { enabled: true } },
  worker: { autoscaling: { enabled: true } },
  schedules: { archive: '30 4 * * *' },
  networkPolicy: { from: from('ingress'), metricsFrom: from('monitoring') },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'audit', operator: 'Exists' }],
};
const objects = rendered(everything);
const kind = (name: string): Yaml[] => objects.filter((object) => object.kind === name);
const folder = mkdtempSync(join(modules, 'rendered-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The package that knows this kind of object, with schemas and types. */
function modelOf({ apiVersion }: Yaml): string {
  const isOperator = apiVersion.startsWith('monitoring.coreos.com/');
  const name = isOperator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
  return `${name}/${apiVersion}`;
}

/** Every pod that the chart starts, by its component. */
const pods = new Map<string, Yaml>(
  objects.flatMap(({ spec }) => {
    const template = spec?.jobTemplate?.spec.template ?? spec?.template;
    return template ? [[template.metadata.labels['app.kubernetes.io/component'], template]] : [];
  }),
);

test('Helm finds no fault in the chart, with the least values and with all', () => {
  for (const values of [needed, everything]) {
    expect(helm(['lint', '--strict', chart], values)).toMatchObject({ status: 0 });
  }
  expect(rendered(needed).map((object) => object.kind)).not.toContain('ServiceMonitor');
});

test('the values on the page of containers are enough', () => {
  const root = join(chart, '../../..');
  const page = readFileSync(join(root, 'docs/operations/containers.md'), 'utf8');
  const [, rest = ''] = /^helm install (.*?)^```/ms.exec(page) ?? [];
  const command = `${helmProgram()} template ${rest}`;
  const text = execFileSync('sh', ['-c', command], { cwd: root, encoding: 'utf8' });
  expect(text).toContain('name: audit-indelible-api');
  expect(text).toContain('"s3://my-bucket/indelible?region=eu-central-1"');
});

test('each object is valid by the schema of its kind', async () => {
  expect(objects.length).toBeGreaterThan(12);
  for (const object of [...objects, ...rendered(needed)]) {
    const model = await import(join(modules, modelOf(object), 'index.js'));
    expect(() => new model[object.kind](object).validate(), object.kind).not.toThrow();
  }
});

test('no object has a field that Kubernetes does not know', () => {
  const lines = objects.map((object) => {
    const { apiVersion: _, kind, ...fields } = object;
    return `new (await import('${modelOf(object)}')).${kind}(${JSON.stringify(fields)});`;
  });
  const file = join(folder, 'objects.mts');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc');
  const options = ['--ignoreConfig', '--strict', '--target', 'esnext', '--module', 'nodenext'];
  const check = () =>
    execFileSync(tsc, [...options, '--noEmit', '--skipLibCheck', '--types', '', file]);
  check();
  writeFileSync(file, lines.join('\n').replace('"readinessProbe"', '"readynessProbe"'));
  expect(check).toThrow();
});

test('values that are wrong, secret or unknown are refused', () => {
  const refused: [string, object][] = [
    ['repository', { env: needed.env }],
    ['PUBLIC_URL', { ...needed, env: { OBJECT_STORE_URL: 's3://audit' } }],
    ['PUBLIC_URL', { ...needed, env: { ...needed.env, PUBLIC_URL: 'http://audit' } }],
    ['OBJECT_STORE_URL', { ...needed, env: { ...needed.env, OBJECT_STORE_URL: 'file:///data' } }],
    ['DATABASE_URL', { ...needed, env: { ...needed.env, DATABASE_URL: 'postgres://a:b@c/d' } }],
    ['DISK_FREE', { ...needed, env: { ...needed.env, DISK_FREE: 5 } }],
    ['tag', { ...needed, image: { ...needed.image, tag: 'latest' } }],
    ['replicas', { ...needed, api: { replicas: 0 } }],
    ['replcas', { ...needed, worker: { replcas: 2 } }],
    ['signingKey', { ...needed, secrets: { signingKey: '-----BEGIN PRIVATE KEY-----' } }],
    ['metricsFrom', { ...needed, serviceMonitor: { enabled: true } }],
    ['egressPorts', { ...needed, networkPolicy: { egressPorts: [70_000] } }],
  ];
  for (const [word, values] of refused) {
    const { status, text } = helm(['template', 'audit', chart], values);
    expect({ status, text }, word).toMatchObject({
      status: 1,
      text: expect.stringContaining(word),
    });
  }
});

test('secrets come by reference, and only the jobs get the login of the owner', () => {
  expect(kind('Secret')).toEqual([]);
  expect([...pods.keys()].sort()).toEqual(['api', 'archive', 'migrate', 'retention', 'worker']);
  for (const [component, { spec }] of pods) {
    const [{ env, envFrom }] = spec.containers;
    expect(envFrom).toEqual([{ secretRef: { name: 'indelible' } }]);
    const byReference = env.filter(({ valueFrom }: Yaml) => valueFrom !== undefined);
    const owner = { secretKeyRef: { name: 'indelible-owner', key: 'DATABASE_OWNER_URL' } };
    const isJob = !['api', 'worker'].includes(component);
    expect(byReference.map(({ valueFrom }: Yaml) => valueFrom)).toEqual(isJob ? [owner] : []);
    const known = documentedVariables();
    expect(env.filter(({ name }: Yaml) => !known.includes(name))).toEqual([]);
  }
});

test('no pod is root, writes its root file system, or may do more than others', () => {
  for (const { spec } of pods.values()) {
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532 });
    expect(spec.securityContext.seccompProfile).toEqual({ type: 'RuntimeDefault' });
    expect(spec.automountServiceAccountToken).toBe(false);
    for (const container of [...spec.initContainers, ...spec.containers]) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.image).toBe('registry.example.com/indelible:0.1.0');
      expect(container.resources.limits.memory).toBeDefined();
    }
    const key = spec.volumes.find(({ name }: Yaml) => name === 'signing-key');
    expect(key.secret.defaultMode).toBe(0o440);
  }
});

/** The components whose pods a selector finds. */
const found = (selector: Record<string, string>) =>
  [...pods]
    .filter(([, { metadata }]) =>
      Object.entries(selector).every(([name, value]) => metadata.labels[name] === value),
    )
    .map(([component]) => component)
    .sort();

test('each selector finds the pods that it is meant for', () => {
  for (const { metadata, spec } of [...kind('Deployment'), ...kind('PodDisruptionBudget')]) {
    expect([`audit-indelible-${found(spec.selector.matchLabels).join()}`]).toEqual([metadata.name]);
  }
  const services = kind('Service').map(({ spec }) => found(spec.selector));
  expect(services).toEqual([['api'], [...pods.keys()].sort()]);
  const [whole, api] = kind('NetworkPolicy');
  expect(found(whole.spec.podSelector.matchLabels)).toEqual([...pods.keys()].sort());
  expect(found(api.spec.podSelector.matchLabels)).toEqual(['api']);
  const [monitor] = kind('ServiceMonitor');
  const { labels } = kind('Service').find(({ metadata }) =>
    metadata.name.endsWith('-metrics'),
  ).metadata;
  expect(labels).toMatchObject(monitor.spec.selector.matchLabels);
  expect(
    kind('Service').filter(({ metadata }) => metadata.labels['app.kubernetes.io/component']),
  ).toHaveLength(1);
});

test('ports agree, and policies open them to the named peers alone', () => {
  for (const component of ['api', 'worker']) {
    const [{ ports }] = pods.get(component).spec.containers;
    expect(ports).toEqual([{ name: 'http', containerPort: 3000 }]);
  }
  expect(
    kind('Service').flatMap(({ spec }) => spec.ports.map((port: Yaml) => port.targetPort)),
  ).toEqual(['http', 'http']);
  const [whole, api] = kind('NetworkPolicy');
  expect(whole.spec.ingress).toEqual([{ from: from('monitoring'), ports: [{ port: 'http' }] }]);
  expect(api.spec.ingress).toEqual([{ from: from('ingress'), ports: [{ port: 'http' }] }]);
  const [{ ports }] = whole.spec.egress;
  const opened = ports.map(({ port, protocol }: Yaml) => `${port} ${protocol}`);
  expect(opened).toEqual(['53 UDP', '53 TCP', '5432 TCP', '443 TCP', '587 TCP']);
});

test('probes, metrics and autoscaling ask for what the service has', async () => {
  const service = await testService();
  for (const component of ['api', 'worker']) {
    const [container] = pods.get(component).spec.containers;
    expect(container.args).toEqual(['serve', '--role', component]);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const url = container[probe].httpGet.path;
      expect((await service.call({ url, key: null })).status, url).toBe(200);
    }
    expect(container.livenessProbe.httpGet.path).toBe('/healthz');
    expect(container.readinessProbe.httpGet.path).toBe('/readyz');
    // Long enough for `preStop` and the 30 seconds that `serve` may take.
    const seconds = container.lifecycle.preStop.sleep.seconds + 30;
    expect(pods.get(component).spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds);
  }
  const [{ path }] = kind('ServiceMonitor')[0].spec.endpoints;
  const { text } = await service.call({ url: path });
  const scaled = kind('HorizontalPodAutoscaler').map(({ metadata, spec }) => {
    expect(spec.scaleTargetRef.name).toBe(metadata.name);
    return spec.metrics[0].pods.metric.name;
  });
  expect(scaled).toHaveLength(2);
  for (const metric of scaled) expect(text).toContain(`# TYPE ${metric} gauge`);
  await service.close();
});

test('migrations run before new pods, and the chart has the version of the product', () => {
  const [migrate] = kind('Job');
  expect(migrate.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
  expect(pods.get('migrate').spec.containers[0].args).toEqual(['migrate']);
  expect(pods.get('retention').spec.containers[0].args).toEqual(['retention', 'run']);
  const { version } = JSON.parse(readFileSync(join(chart, '../../../package.json'), 'utf8'));
  const about = yaml.parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
  expect(about).toMatchObject({ version, appVersion: version });
});
