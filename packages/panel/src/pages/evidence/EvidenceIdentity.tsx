import type { OpenedSearch } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { Fact } from '../../components/Fact.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { QrCode } from './QrCode.tsx';

/** What a reader on paper needs to find the evidence again and to check its signature. */
export function EvidenceIdentity({ evidence }: { evidence: OpenedSearch }) {
  const t = useTexts();
  const { id, url, checkpoint } = evidence;
  const note = checkpoint?.note ?? null;
  const origin = note?.split('\n', 1).join() ?? '';
  const keys = useQuery({
    queryKey: ['keys', origin],
    queryFn: () => client.log.keys(origin),
    enabled: note !== null,
  });
  const vkeys = keys.data?.keys.map(({ vkey }) => vkey) ?? [];
  return (
    <section className="keep">
      <h2 className="mb-2 font-semibold">{t.evidence.identity}</h2>
      <div className="flex gap-6">
        <dl className="min-w-0 flex-1">
          <Fact name={t.evidence.id} copy={id}>
            <code className="text-xs break-all">{id}</code>
          </Fact>
          <Fact name={t.evidence.address} copy={url}>
            <span className="text-xs break-all">{url}</span>
          </Fact>
          {note !== null && (
            <Fact name={t.evidence.signedNote} copy={note}>
              <pre className="text-2xs break-all whitespace-pre-wrap">{note.trimEnd()}</pre>
            </Fact>
          )}
          {vkeys.map((vkey) => (
            <Fact key={vkey} name={t.evidence.key} copy={vkey}>
              <code className="text-2xs break-all">{vkey}</code>
            </Fact>
          ))}
        </dl>
        <QrCode text={url} className="print-only size-32 shrink-0" />
      </div>
    </section>
  );
}
