import type { AuditEvent } from '@indelible/client';
import { type Diff, parseTimestamp, partyName, revealed, type Scalar } from '@indelible/protocol';
import { ArrowRight } from 'lucide-react';
import { type FC, Fragment, useRef } from 'react';
import { ActionValue, OutcomeBadge } from '../../components/ActionLabel.tsx';
import { AppLink } from '../../components/AppLink.tsx';
import { ErasedBadge, isErased } from '../../components/Erased.tsx';
import { isNoText, NoText } from '../../components/NoText.tsx';
import { outcomeIn } from '../../components/outcome-in.ts';
import { noteOn, OnBehalfOf, PartyName, useActorText } from '../../components/Parties.tsx';
import { TargetValue, targetName } from '../../components/TargetValue.tsx';
import { TabStops, useMenus, Value } from '../../components/Value.tsx';
import { valueText } from '../../components/value-text.ts';
import { useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import type { ListColumn } from '../../search/list-view.ts';

interface EventRowProps {
  event: AuditEvent;
  href: string;
  isOpen: boolean;
  /** Whether the keyboard focus is in this row: then Tab stops at its values. */
  isActive: boolean;
  activate: () => void;
  withDate: boolean;
  columns: readonly ListColumn[];
}

export function EventRow(props: EventRowProps) {
  const { event, href, isOpen, isActive, activate, withDate, columns } = props;
  return (
    <tr className="row group" aria-current={isOpen || undefined} onFocus={activate}>
      <td className="corner tabular-nums">
        <Time event={event} href={href} withDate={withDate} />
      </td>
      <TabStops value={isActive}>
        {columns.map((column) => {
          const { className, Content } = cells[column];
          return (
            <td key={column} className={className}>
              <Content event={event} />
            </td>
          );
        })}
      </TabStops>
    </tr>
  );
}

interface CellProps {
  event: AuditEvent;
}

const cells: Readonly<Record<ListColumn, { className: string; Content: FC<CellProps> }>> = {
  user: { className: '', Content: Who },
  action: { className: '', Content: Action },
  resource: { className: 'min-w-0', Content: ResourceName },
  changes: { className: 'wide min-w-0', Content: Changes },
  ip: { className: 'col-origin truncate font-mono text-xs text-muted', Content: Origin },
};

function Action(props: CellProps) {
  return (
    <>
      <ActionValue {...props} />
      <div>
        <OutcomeBadge {...props} />
      </div>
    </>
  );
}

function Changes({ event }: CellProps) {
  return (
    <>
      {Object.keys(event.diff).length > 0 && <DiffPreview diff={event.diff} />}
      <Reason event={event} />
      <ErasedBadge event={event} />
    </>
  );
}

function Origin({ event }: CellProps) {
  return <span title={event.actor.ip ?? ''}>{event.actor.ip}</span>;
}

/** The resource: its name and type, or without a name its type and id; then the targets. */
function ResourceName({ event }: CellProps) {
  const t = useTexts();
  const { id, name, type } = event.resource;
  const typeName = wordOf(t.resources, type);
  const named = (
    <Value
      facet="resourceId"
      value={id}
      label={revealed(name ?? id)}
      resourceId={id}
      className={name === null ? 'font-mono text-2xs text-faint' : ''}
    >
      <span dir="auto" title={revealed(name ?? id)}>
        {name === null ? id.slice(0, 8) : revealed(name)}
      </span>
    </Value>
  );
  const typed = (
    <Value
      facet="resource"
      value={type}
      label={typeName}
      className={name === null ? '' : 'text-xs text-faint'}
    />
  );
  return (
    <>
      <div>
        {name === null ? typed : named}
        <Targets event={event} />
      </div>
      <div>{name === null ? named : typed}</div>
    </>
  );
}

const targetsShown = 2;

function Targets({ event: { targets = [] } }: CellProps) {
  const t = useTexts();
  const more = targets.length - targetsShown;
  return (
    <>
      {targets.slice(0, targetsShown).map((target, at) => (
        <Fragment key={target.id ?? at}>
          <span className="text-faint"> · </span>
          <TargetValue target={target} />
        </Fragment>
      ))}
      {more > 0 && <span className="text-xs text-faint"> {t.events.more({ count: more })}</span>}
    </>
  );
}

/** The declared reason; an operator's missing one is highlighted. */
export function Reason({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const { crossTenant, reason } = event;
  if (isErased(event, 'change')) return null;
  if (reason === null) {
    return crossTenant && <span className="badge badge-del">{t.access.noReason}</span>;
  }
  return (
    <span
      dir="auto"
      className={`line-clamp-2 text-xs/6 ${crossTenant ? 'text-warn' : 'text-muted'}`}
    >
      “{revealed(reason)}”
    </span>
  );
}

const hoverMs = 450;

function Time({ event, href, withDate }: { event: AuditEvent; href: string; withDate: boolean }) {
  const { t, formats } = useReader();
  const { openMoment } = useMenus();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const ms = parseTimestamp(event.timestamp) ?? 0;
  const actorText = useActorText();
  const outcome = outcomeIn(event);
  const { action, resource, targets = [] } = event;
  const what = [
    wordOf(t.actions, action),
    revealed(resource.name ?? wordOf(t.resources, resource.type)),
    ...targets.slice(0, targetsShown).map(targetName),
    actorText(event),
    ...(outcome === null ? [] : [t.outcomes[outcome]]),
    formats.dateTime(ms),
  ].join(', ');
  return (
    <AppLink href={href} className="row-link" aria-label={t.events.open({ what })}>
      <time
        className="above -mx-1 rounded px-1 text-muted group-hover:text-ink"
        dateTime={event.timestamp}
        onPointerEnter={({ currentTarget, pointerType }) => {
          if (pointerType !== 'mouse') return;
          timer.current = setTimeout(() => openMoment(currentTarget, ms), hoverMs);
        }}
        onPointerLeave={() => clearTimeout(timer.current)}
      >
        {withDate ? formats.dateTime(ms) : formats.time(ms)}
      </time>
    </AppLink>
  );
}

/** The actor, what kind it is, and for whom it acted. */
function Who({ event }: CellProps) {
  const t = useTexts();
  const { actor, crossTenant } = event;
  const note = noteOn(event, t);
  return (
    <div className="min-w-0">
      <PartyName event={event} party={actor} facet="user" />
      <OnBehalfOf event={event} />
      {(crossTenant || note !== '') && (
        <div className="flex h-6 items-center text-xs text-faint">
          {crossTenant && <span className="badge badge-warn mr-1.5">{t.operator.badge}</span>}
          {(!crossTenant || partyName(actor) === null) && <span className="truncate">{note}</span>}
        </div>
      )}
    </div>
  );
}

// In a flex row, the longer value would leave the other no room.
const fromTo =
  'grid min-w-0 grid-cols-[minmax(0,max-content)_auto_minmax(0,max-content)] items-baseline gap-1.5';

/** The first two changes of an event, one line each, and the number of others. */
function DiffPreview({ diff }: { diff: Diff }) {
  const t = useTexts();
  const fields = Object.entries(diff);
  const shown = fields.slice(0, 2);
  const more = fields.length - shown.length;
  return (
    <ul>
      {shown.map(([field, { from, to }], index) => (
        <li key={field} className="flex min-w-0 items-baseline gap-1.5">
          <span className="max-w-[45%] shrink-0 truncate font-mono text-xs/6 text-faint">
            {revealed(field)}
          </span>
          <span className={fromTo}>
            <ShortValue value={from} other={to} kind="del" />
            <ArrowRight aria-hidden className="size-3 self-center text-faint" />
            <ShortValue value={to} other={from} kind="add" />
          </span>
          {more > 0 && index === shown.length - 1 && (
            <span className="ml-1 shrink-0 text-xs/6 text-faint">
              {t.events.more({ count: more })}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function ShortValue(props: { value: Scalar; other: Scalar; kind: 'add' | 'del' }) {
  const { value, other, kind } = props;
  const t = useTexts();
  return (
    <span
      dir="auto"
      className={`max-w-40 min-w-0 truncate text-xs/6 ${kind === 'del' ? 'text-muted line-through decoration-del/60' : 'text-add'}`}
    >
      <span className="sr-only">{kind === 'del' ? t.events.from : t.events.to} </span>
      {isNoText(value) ? <NoText value={value} /> : valueText(value, other)}
    </span>
  );
}
