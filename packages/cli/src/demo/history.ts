import { isDeepStrictEqual } from 'node:util';
import type { EventInput } from '@indelible/client';
import { eventIdFromUuid, eventUuid } from '@indelible/protocol';
import { type Actor, type ContactCenter, openContactCenter } from './contact-center.ts';
import { createDice, type Dice } from './dice.ts';
import { type Cast, edited, type Resource } from './resources.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;
const historyDays = 182;
/** When one analyst listened to unusually many recordings. */
const burstDaysAgo = 9;

type Told = Omit<EventInput, 'id' | 'timestamp' | 'tenantId' | 'actor'>;

/**
 * Half a year of a contact centre, sorted by time, up to `nowMs`: the same seed and day give the
 * same events with the same ids.
 */
export function demoHistory(cast: Cast, seed: number, nowMs: number): EventInput[] {
  const story = openStory(cast, seed, nowMs);
  const today = Math.floor(nowMs / dayMs) * dayMs;
  found(story, today - historyDays * dayMs);
  for (let day = historyDays - 1; day >= 0; day -= 1) {
    const acts = plannedActs(story.dice, today - day * dayMs);
    if (day === burstDaysAgo) acts.push([today - day * dayMs + 23 * 60 * minuteMs, listenAllNight]);
    if (day % 19 === 4) acts.push([workingTime(story.dice, today - day * dayMs), operatorVisit]);
    if (day % 6 === 0) acts.push([workingTime(story.dice, today - day * dayMs), assist]);
    if (day % 47 === 11) acts.push([workingTime(story.dice, today - day * dayMs), closeQueue]);
    // Sorted by time, so that each change starts with the state of the previous one.
    for (const [atMs, act] of acts.sort(([a], [b]) => a - b)) act(story, atMs);
  }
  return story.events.sort((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1));
}

interface Story {
  dice: Dice;
  center: ContactCenter;
  events: EventInput[];
  /** Reasons of the coming operators, the next one first. */
  reasons: (string | null)[];
  tell(atMs: number, actor: Actor, event: Told): void;
}

function openStory(cast: Cast, seed: number, nowMs: number): Story {
  const dice = createDice(seed);
  const center = openContactCenter(dice, cast);
  const events: EventInput[] = [];
  const { tenantId } = center;
  const tell = (atMs: number, actor: Actor, event: Told) => {
    // Also draws for events in the future, so that the time of day does not change the other
    // events.
    const id = eventIdFromUuid(eventUuid(atMs, dice.bytes(10)));
    if (atMs <= nowMs) events.push({ id, tenantId, actor, ...event });
  };
  return { dice, center, events, tell, reasons: [...reasons, ...reasons, ...reasons] };
}

const named = ({ type, id, name }: Resource) => ({ type, id, name });

function firstOf(center: ContactCenter, type: string): Resource {
  const found = center.resources.find((resource) => resource.type === type);
  if (!found) throw new Error(`the contact centre has no ${type}`);
  return found;
}

/** Creates everything on the first day. */
function found({ dice, center, tell }: Story, day: number): void {
  for (const resource of center.resources) {
    const told = { action: 'create', resource: named(resource), after: resource.state };
    const actor = dice.pick(center.people);
    tell(workingTime(dice, day), actor, told);
  }
  const crm = { type: 'crm', id: dice.uuid(), name: 'CRM' };
  tell(workingTime(dice, day), center.people[0], { action: 'connect', resource: crm });
}

type Act = (story: Story, atMs: number) => void;

/** The actions of an ordinary day, with their times; few on weekends. */
function plannedActs(dice: Dice, day: number): [atMs: number, act: Act][] {
  const weekend = [0, 6].includes(new Date(day).getUTCDay());
  const often = (min: number, max: number, act: Act): [number, Act][] =>
    Array.from({ length: Math.round(dice.whole(min, max) * (weekend ? 0.25 : 1)) }, () => [
      workingTime(dice, day),
      act,
    ]);
  return [
    ...often(3, 9, changeSomething),
    ...often(8, 22, listen),
    ...often(4, 9, signIn),
    ...often(2, 6, integrate),
  ];
}

/** Between 8 and 19 o'clock in the Americas, mostly before and after lunch. */
function workingTime(dice: Dice, day: number): number {
  const hour = dice.pick([11, 12, 12, 13, 13, 14, 14, 15, 17, 17, 18, 18, 19, 20, 21]);
  return day + hour * 60 * minuteMs + dice.whole(0, 60 * minuteMs - 1);
}

function changeSomething(story: Story, atMs: number): void {
  const { dice, center } = story;
  const resource = center.resources[dice.whole(0, center.resources.length - 1)];
  const isPublished = resource?.type === 'ivr' && dice.chance(0.3);
  const action = isPublished ? 'publish' : 'update';
  if (resource) change(story, atMs, dice.pick(center.people), resource, { action });
}

/** Changes a resource, unless the change leaves it as it is. */
function change(
  { dice, tell }: Story,
  atMs: number,
  actor: Actor,
  resource: Resource,
  told: Pick<Told, 'action' | 'reason'>,
): void {
  const { state: before } = resource;
  const after = edited(dice, resource);
  if (isDeepStrictEqual(after, before)) return;
  tell(atMs, actor, { ...told, resource: named(resource), before, after });
  resource.state = after;
}

function listen({ dice, center, tell }: Story, atMs: number): void {
  const written = dice.chance(0.2);
  const name = `${new Date(atMs).toISOString().slice(0, 10)} call ${dice.whole(1000, 9999)}`;
  tell(atMs, dice.pick(center.analysts), {
    action: written ? 'read' : 'access',
    resource: { type: written ? 'transcript' : 'recording', id: dice.uuid(), name },
    diff: written ? {} : { secondsPlayed: { from: null, to: dice.whole(12, 900) } },
  });
}

function signIn({ dice, center, tell }: Story, atMs: number): void {
  const actor = dice.pick([...center.people, ...center.analysts]);
  const resource = { type: 'session', id: dice.uuid(), name: null };
  const user = { type: 'user', id: actor.id, name: actor.email ?? null };
  if (dice.chance(0.06)) tell(atMs, stranger(dice), { action: 'login_failed', resource: user });
  if (dice.chance(0.02)) tell(atMs, actor, { action: 'mfa_configured', resource: user });
  if (dice.chance(0.02)) tell(atMs, actor, { action: 'password_changed', resource: user });
  if (dice.chance(0.01)) {
    tell(atMs, center.people[0], { action: 'session_forced', resource: user });
  }
  tell(atMs, actor, { action: 'login', resource });
  if (dice.chance(0.6)) {
    tell(atMs + dice.whole(20, 240) * minuteMs, actor, { action: 'logout', resource });
  }
}

/** An unknown actor before sign-in: the nil UUID, without an address. */
function stranger(dice: Dice): Actor {
  return {
    id: '00000000-0000-0000-0000-000000000000',
    email: null,
    role: 'anonymous',
    ip: `198.51.100.${dice.whole(30, 250)}`,
    userAgent: 'python-requests/2.32',
  };
}

function integrate({ dice, center, tell }: Story, atMs: number): void {
  const action = dice.pick(['push', 'push', 'send', 'push']);
  const [type, name] = dice.pick([
    ['crm', 'Contact summary'],
    ['transcript', 'Transcript to CRM'],
    ['oauth', 'Calendar token'],
  ]);
  tell(atMs, center.crm, { action, resource: { type, id: dice.uuid(), name } });
}

/** Late one evening an analyst plays some seventy recordings in forty minutes. */
function listenAllNight({ dice, center, tell }: Story, fromMs: number): void {
  const actor = { ...center.analysts[0], ip: '198.51.100.77' };
  let atMs = fromMs;
  for (let n = 0; n < 72; n += 1) {
    atMs += dice.whole(10_000, 55_000);
    const name = `${new Date(fromMs).toISOString().slice(0, 10)} call ${1000 + n}`;
    const resource = { type: 'recording', id: dice.uuid(), name };
    tell(atMs, actor, {
      action: n % 3 === 0 ? 'download' : 'access',
      resource,
      diff: { secondsPlayed: { from: null, to: dice.whole(2, 9) } },
    });
  }
}

/** An assistant reads and changes something for a person, and tries more than it may. */
function assist({ dice, center, tell }: Story, atMs: number): void {
  const queue = firstOf(center, 'queue');
  const { id, email = null, role } = dice.pick(center.people);
  const person = { ...(id !== undefined && { id }), ...(email !== null && { email }), role };
  const traceId = Buffer.from(dice.bytes(16)).toString('hex');
  const asked = {
    onBehalfOf: [{ ...person, type: 'user' as const }],
    correlationId: `chat-${dice.whole(10_000, 99_999)}`,
    traceId,
  };
  const via = (tool: string) => ({ channel: 'mcp', clientId: 'desktop-assistant', tool });
  const before = queue.state;
  const after = { ...before, maxWaitSeconds: dice.pick([25, 35, 50, 75, 100]) };
  tell(atMs, center.assistant, {
    ...asked,
    action: 'update',
    outcome: 'success',
    via: via('update_queue'),
    resource: named(queue),
    targets: [named(firstOf(center, 'agent'))],
    metadata: { model: 'routing-3', confidence: dice.whole(70, 99) / 100, confirmed: true },
    before,
    after,
  });
  queue.state = after;
  tell(atMs + 4_000, center.assistant, {
    ...asked,
    action: 'update',
    outcome: 'denied',
    via: via('update_user_role'),
    resource: named(firstOf(center, 'user_role')),
    metadata: { model: 'routing-3', missing: 'roles.edit' },
  });
  tell(atMs + 9_000, center.assistant, {
    ...asked,
    action: 'push',
    outcome: 'failure',
    via: via('notify_crm'),
    resource: { type: 'crm', id: dice.uuid(), name: 'Contact summary' },
    metadata: { status: 504 },
  });
}

const reasons = [
  'Ticket 48213: calls to the booking line were dropped',
  'Ticket 50177: customer asked us to check the opening hours of the main menu',
  'Migration of recording storage, agreed with the customer',
  null,
] as const;

/** An operator reads, and sometimes corrects something; occasionally without a reason. */
function operatorVisit(story: Story, atMs: number): void {
  const { center, tell, reasons } = story;
  const reason = reasons.shift() ?? null;
  const operator: Actor = {
    id: '7c9b4b9e-3c56-4d39-8a55-2f3d7f1a9c02',
    email: 'support@operator.example',
    role: 'superadmin',
    ip: '192.0.2.44',
    userAgent: 'Operator console 4.2',
  };
  const log = { type: 'audit_log', id: center.tenantId, name: null };
  tell(atMs, operator, { action: 'access', resource: log, reason });
  const told = { action: 'update', reason };
  change(story, atMs + 6 * minuteMs, operator, firstOf(center, 'ivr'), told);
}

/** A queue is deleted, and a queue with another name replaces it. */
function closeQueue({ dice, center, tell }: Story, atMs: number): void {
  const queue = firstOf(center, 'queue');
  const { name, state } = queue;
  const actor = dice.pick(center.people);
  tell(atMs, actor, { action: 'delete', resource: named(queue), before: state });
  queue.name = `${name.replace(/ \d+$/, '')} ${dice.whole(2, 9)}`;
  queue.id = dice.uuid();
  queue.state = { ...state, maxWaitSeconds: 45 };
  const told = { action: 'create', resource: named(queue), after: queue.state };
  tell(atMs + 3 * minuteMs, actor, told);
}
