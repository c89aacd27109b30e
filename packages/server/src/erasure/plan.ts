import {
  externalUuid,
  isServiceRecord,
  uuidFromEventId,
  type WithholdableSegment,
} from '@indelible/protocol';
import { erasedSegments, hasState, type StoredEvent } from '../events/prepared-event.ts';
import type { Queries } from '../postgres/db.ts';
import { readTerms } from '../retention/terms.store.ts';
import { countFiles, findElsewhere, notifiesAny } from './elsewhere.store.ts';
import { type ErasurePlan, ErasureRefused, requireInSight } from './erase.ts';
import { findNamedQueries } from './named-queries.store.ts';
import {
  addressesOf,
  eventsOfUnknown,
  findActors,
  findEvent,
  findMentions,
  type KnownActor,
  ownIdsOf,
  unfinishedErasures,
} from './store.ts';

/**
 * What erasing a person (UUID, own id or e-mail) would do. Throws ErasureRefused if the tenant has
 * no data about them except as an operator, and while retention is moving events.
 */
export async function planActor(
  owner: Queries,
  tenantId: string,
  actor: string,
): Promise<ErasurePlan> {
  const { legalHold } = await tenantOf(owner, tenantId);
  const emailKey = actor.includes('@') ? actor.toLowerCase() : null;
  const by = emailKey === null ? { id: externalUuid(tenantId, 'actor', actor) } : { emailKey };
  const found = await findActors(owner, tenantId, by);
  const actors = found.filter(({ count }) => count > 0);
  const events = emailKey === null ? [] : await eventsOfUnknown(owner, tenantId, emailKey);
  const unfinished = await unfinishedErasures(owner, tenantId);
  if (actors.length + events.length === 0 && unfinished.length === 0) throw nothingOf(found, actor);
  const ids = actors.map(({ id }) => id);
  const addresses = await addressesOf(owner, tenantId, ids);
  if (emailKey !== null && !addresses.includes(emailKey)) addresses.push(emailKey);
  const ownIds = await ownIdsOf(owner, tenantId, ids);
  const person = { tenantId, actors: ids, ownIds, addresses };
  return {
    tenantId,
    segment: 'identity',
    actors,
    addresses,
    ownIds,
    events,
    legalHold,
    named: await findNamedQueries(owner, person),
    files: await countFiles(owner, tenantId),
    elsewhere: await findElsewhere(owner, person),
    mentions: await findMentions(owner, tenantId, ids, addresses),
    isNotified: await notifiesAny(owner, person),
    unfinished: unfinished.length,
  };
}

function nothingOf(found: readonly KnownActor[], actor: string): ErasureRefused {
  const asOperator = found.reduce((sum, actor) => sum + actor.asOperator, 0);
  return new ErasureRefused(
    asOperator > 0
      ? 'this actor is an operator: the identity of operators cannot be erased'
      : `no event of the tenant has an identity of the actor ${actor}`,
  );
}

/**
 * What erasing a segment of one event would do. Throws ErasureRefused for an unknown event or
 * segment, and for the service's own records about the log.
 */
export async function planEvent(
  owner: Queries,
  tenantId: string,
  eventId: string,
  segment: WithholdableSegment,
): Promise<ErasurePlan> {
  const { legalHold } = await tenantOf(owner, tenantId);
  const uuid = uuidFromEventId(eventId);
  const unfinished = await unfinishedErasures(owner, tenantId);
  const isBegun = unfinished.some(
    (each) => each.segment === segment && each.events.includes(uuid ?? ''),
  );
  // Continues an unfinished erasure, even if only the archived copy remains.
  const event = uuid === null ? null : await findEvent(owner, tenantId, uuid);
  if (!isBegun) requireErasable({ tenantId, eventId, segment }, event);
  return {
    tenantId,
    segment,
    actors: [],
    addresses: [],
    ownIds: [],
    legalHold,
    events: isBegun || uuid === null ? [] : [uuid],
    files: await countFiles(owner, tenantId),
    elsewhere: null,
    named: null,
    mentions: null,
    isNotified: false,
    unfinished: unfinished.length,
  };
}

function requireErasable(
  { tenantId, eventId, segment }: { tenantId: string; eventId: string; segment: string },
  event: StoredEvent | null,
): void {
  if (event === null) throw new ErasureRefused(`the tenant ${tenantId} has no event ${eventId}`);
  if (isServiceRecord(event)) {
    throw new ErasureRefused(
      'this event records a removal, and verifiers need it: it cannot be erased',
    );
  }
  const { recordedByKind, resourceId, actorRole } = event;
  if (recordedByKind === 'service' && resourceId === tenantId && actorRole === 'superadmin') {
    throw new ErasureRefused('this event records what an operator looked at: it cannot be erased');
  }
  if (erasedSegments(event).some((erased) => erased === segment)) {
    throw new ErasureRefused(`the ${segment} of this event is erased already`);
  }
  if (segment === 'state' && !hasState(event)) {
    throw new ErasureRefused('the event was recorded without a state');
  }
  if (segment === 'context' && event.context === null) {
    throw new ErasureRefused('the event was recorded without a context: it is of version 1');
  }
}

async function tenantOf(owner: Queries, tenantId: string) {
  await requireInSight(owner);
  return requireTenant(owner, tenantId);
}

/** The tenant's terms. Throws ErasureRefused for an unknown tenant. */
export async function requireTenant(owner: Queries, tenantId: string) {
  const tenant = (await readTerms(owner, [tenantId])).get(tenantId);
  if (!tenant) throw new ErasureRefused(`there is no tenant ${tenantId}`);
  return tenant;
}
