import { CopyButton } from '../../components/CopyButton.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useSession } from '../../session/session-context.tsx';

/** What to do in a tenant of which no product has recorded anything: calls with its own ids. */
export default function FirstSteps() {
  const t = useTexts().firstSteps;
  const { tenant, actor } = useSession();
  return (
    <section aria-label={t.title} className="no-print card mx-3 mb-4 max-w-3xl p-5">
      <h2 className="font-semibold">{t.title}</h2>
      <p className="prose-text mt-1">{t.text}</p>
      <ol className="mt-3 space-y-3">
        {callsOf(tenant.id, actor).map(({ name, call }) => (
          <li key={name}>
            <div className="flex items-center justify-between gap-2">
              <h3 className="label">{t[name]}</h3>
              <CopyButton text={call} label={t[name]} />
            </div>
            <ScrollRegion label={t[name]} className="rounded-lg bg-sunken p-3">
              <pre className="font-mono text-xs">{call}</pre>
            </ScrollRegion>
          </li>
        ))}
      </ol>
      <p className="prose-text mt-3">{t.retention({ plan: tenant.plan })}</p>
      <a className="link mt-2 inline-block" href="/docs">
        {t.reference}
      </a>
    </section>
  );
}

/** The README's calls. The key is not written into them: the reader sets the variable. */
function callsOf(tenantId: string, actor: { id: string; email: string | null; role: string }) {
  const person = JSON.stringify({ ...actor, role: 'admin' });
  const resource = '{"type":"queue","externalId":"support","name":"Support"}';
  const diff = '{"maxWaitSeconds":{"from":30,"to":60}}';
  const curl = (path: string, ...more: string[]) =>
    [
      `curl ${location.origin}/api/${path}`,
      '-H "Authorization: Bearer $INDELIBLE_API_KEY"',
      ...more,
    ].join(' \\\n  ');
  const json = "-H 'Content-Type: application/json'";
  const event = `{"tenantId":"${tenantId}","actor":${person},"action":"update","resource":${resource},"diff":${diff}}`;
  const look = [`-H 'X-Tenant-Id: ${tenantId}'`, "-H 'X-Access-Reason: first%20look'"];
  return [
    { name: 'record', call: curl('audit-logs', json, `-d ${quoted(event)}`) },
    { name: 'find', call: curl('audit-logs', ...look) },
    {
      name: 'open',
      call: curl(
        'viewer-links',
        json,
        `-d ${quoted(`{"tenantId":"${tenantId}","actor":${person}}`)}`,
      ),
    },
  ] as const;
}

/** For a shell: an apostrophe in an address must not end the text. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
