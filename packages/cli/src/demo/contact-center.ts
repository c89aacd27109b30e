import type { EventInput, State } from '@indelible/client';
import type { Dice } from './dice.ts';

/** A person or program that acts in the contact centre. */
export type Actor = EventInput['actor'] & { id: string };

/** A resource with its current state. */
export interface Resource {
  type: string;
  id: string;
  name: string;
  state: State;
}

export interface ContactCenter {
  tenantId: string;
  /** Administrators and team leaders, who change resources. */
  people: readonly [Actor, ...Actor[]];
  /** Quality analysts, who listen to recordings. */
  analysts: readonly [Actor, ...Actor[]];
  crm: Actor;
  /** Works for the people, over MCP. */
  assistant: Actor;
  resources: Resource[];
}

/** The differences between the demo contact centres. */
export interface Cast {
  tenantId: string;
  domain: string;
  people: readonly string[];
  analysts: readonly string[];
  agents: readonly string[];
  queues: readonly string[];
  ivrs: readonly string[];
  /** Prefix of telephone numbers that are reserved for fiction. */
  dialPrefix: string;
  language: string;
}

const browsers = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:151.0) Gecko/20100101 Firefox/151.0',
] as const;

/** A contact centre on its first day. */
export function openContactCenter(dice: Dice, cast: Cast): ContactCenter {
  const person = (login: string): Actor => ({
    id: dice.uuid(),
    email: `${login}@${cast.domain}`,
    role: 'admin',
    ip: `203.0.113.${dice.whole(2, 250)}`,
    userAgent: dice.pick(browsers),
  });
  return {
    tenantId: cast.tenantId,
    people: atLeastOne(cast.people.map(person)),
    analysts: atLeastOne(
      cast.analysts.map((login) => ({ ...person(login), role: 'quality_analyst' })),
    ),
    crm: { id: dice.uuid(), email: null, role: 'system', ip: '198.51.100.20', userAgent: null },
    assistant: {
      ...{ id: dice.uuid(), externalId: 'routing-copilot' },
      name: 'Routing copilot',
      type: 'agent',
      email: null,
      role: 'admin',
    },
    resources: [
      ...cast.queues.map((name) => queue(dice, name)),
      ...cast.agents.map((name) => agent(dice, name, cast)),
      ...cast.ivrs.map((name) => ivr(dice, name, cast)),
      ...cast.queues.slice(0, 6).map((name, index) => did(dice, name, cast, index)),
      ...recordingPolicies(dice),
      ...userRoles(dice),
    ],
  };
}

function atLeastOne<T>(list: readonly T[]): readonly [T, ...T[]] {
  const [first, ...others] = list;
  if (first === undefined) throw new Error('a contact centre needs people of each kind');
  return [first, ...others];
}

function queue(dice: Dice, name: string): Resource {
  const state = {
    strategy: dice.pick(['longest_idle', 'skills_first', 'round_robin']),
    maxWaitSeconds: dice.pick([30, 45, 60, 90]),
    serviceLevel: { percent: 80, withinSeconds: 20 },
    music: 'calm-piano',
    overflowTo: null,
  };
  return { type: 'queue', id: dice.uuid(), name, state };
}

function agent(dice: Dice, name: string, cast: Cast): Resource {
  const state = {
    extension: String(dice.whole(2000, 2999)),
    skills: [dice.pick(cast.queues as [string, ...string[]]).toLowerCase()],
    language: cast.language,
    maxChats: 3,
    active: true,
  };
  return { type: 'agent', id: dice.uuid(), name, state };
}

function ivr(dice: Dice, name: string, cast: Cast): Resource {
  const [first = 'Support', second = 'Sales'] = cast.queues;
  const state = {
    greeting: `Welcome to ${name}.`,
    timeoutSeconds: 8,
    menu: [
      { key: '1', prompt: `For ${first}`, queue: first },
      { key: '2', prompt: `For ${second}`, queue: second },
      { key: '9', prompt: 'To hear this again', queue: null },
    ],
    hours: { from: '08:00', to: '20:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] },
    afterHours: 'voicemail',
  };
  return { type: 'ivr', id: dice.uuid(), name, state };
}

function did(dice: Dice, queueName: string, cast: Cast, index: number): Resource {
  const number = `${cast.dialPrefix}${String(100 + index).padStart(4, '0')}`;
  const state = { number, routesTo: queueName, callerIdName: queueName, smsEnabled: false };
  return { type: 'did', id: dice.uuid(), name: number, state };
}

function recordingPolicies(dice: Dice): Resource[] {
  const policy = (name: string, percent: number, retentionDays: number): Resource => ({
    type: 'recording_policy',
    id: dice.uuid(),
    name,
    state: {
      percent,
      retentionDays,
      pauseOnCardEntry: true,
      announce: true,
      storage: { region: 'eu-central-1', encrypted: true },
    },
  });
  return [policy('All inbound', 100, 90), policy('Quality sample', 15, 365)];
}

function userRoles(dice: Dice): Resource[] {
  const role = (name: string, permissions: string[]): Resource => {
    return { type: 'user_role', id: dice.uuid(), name, state: { permissions } };
  };
  return [
    role('Team leader', ['queues.edit', 'agents.edit', 'wallboard.view']),
    role('Quality analyst', ['recordings.listen', 'transcripts.read']),
    role('Administrator', ['*']),
  ];
}
