import type { AuditEvent } from '@indelible/client';
import { ErasedValue, isErased } from '../../components/Erased.tsx';
import { Value } from '../../components/Value.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';

/** Who acted: address, role, and whether it was the operator of the product. */
export function Who({ event, tabbable = true }: { event: AuditEvent; tabbable?: boolean }) {
  const t = useTexts();
  const { actor, crossTenant } = event;
  const gone = isErased(event, 'identity');
  return (
    <div className="min-w-0 leading-snug">
      <Value
        facet="user"
        value={actor.email?.toLowerCase() ?? actor.id}
        label={actor.email ?? actor.id}
        tabbable={tabbable}
      >
        {actor.email ?? (gone ? <ErasedValue /> : wordOf({}, actor.role))}
      </Value>
      <div className="flex items-center gap-1.5 text-xs text-faint">
        {crossTenant ? (
          <span className="badge badge-warn">{t.operator.badge}</span>
        ) : (
          <span className="truncate">
            {actor.email === null && !gone ? t.events.noEmail : wordOf({}, actor.role)}
          </span>
        )}
      </div>
    </div>
  );
}
