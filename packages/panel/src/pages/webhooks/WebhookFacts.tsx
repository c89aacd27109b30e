import type { Webhook } from '@indelible/client';
import { Fact } from '../../components/Fact.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { searchOfCriteria } from '../../search/criteria.ts';
import { useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { formatFields } from './formats.ts';

/** The settings of a webhook; never a secret. */
export function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const t = useTexts();
  const w = t.webhooks;
  const formats = useFormats();
  const { url, format, types, options, hasCredential, headerNames, nextSequence } = webhook;
  const { previousSecretValidUntil: until } = webhook;
  const { isSigned } = formatFields[format];
  return (
    <dl className="text-[0.8125rem]">
      <Fact name={w.form.url}>
        <span className="font-mono text-xs break-all">{url}</span>
      </Fact>
      <Fact name={w.form.format}>{w.formats[format]}</Fact>
      {Object.entries(options).map(([name, value]) => (
        <Fact key={name} name={textOf(w.options, name)}>
          {textOf(w.choices, value)}
        </Fact>
      ))}
      <Fact name={w.form.types}>{types.map((type) => w.types[type]).join(', ')}</Fact>
      {types.includes('audit.events.recorded') && (
        <Fact name={t.nav.events}>
          <Criteria webhook={webhook} />
        </Fact>
      )}
      {headerNames.length > 0 && (
        <Fact name={w.form.headers}>
          <span className="font-mono text-xs break-all">{headerNames.join(', ')}</span>
        </Fact>
      )}
      {hasCredential && <Fact name={w.facts.credential}>{w.facts.stored}</Fact>}
      {isSigned && (
        <Fact name={w.facts.secret}>
          {until === null ? w.facts.set : w.rotate.until({ when: formats.dateTime(until) })}
        </Fact>
      )}
      <Fact name={w.facts.next}>{formats.number(nextSequence)}</Fact>
      <Fact name={w.facts.created}>{formats.dateTime(webhook.createdAt)}</Fact>
    </dl>
  );
}

function Criteria({ webhook }: { webhook: Webhook }) {
  const w = useTexts().webhooks;
  const { all } = useCriteriaTexts();
  const { facets, range } = searchOfCriteria(webhook.filters);
  const criteria = all(facets, range).filter(({ facet }) => facet !== undefined);
  if (criteria.length === 0) return w.facts.all;
  return criteria.map(({ name, text }) => `${name}: ${text}`).join(' · ');
}

function textOf(texts: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(texts, name) ? (texts[name] ?? name) : name;
}
