import type { State } from '@indelible/client';
import type { Dice } from './dice.ts';

/** A resource with its current state. */
export interface Resource {
  type: string;
  id: string;
  name: string;
  state: State;
}

/** The differences between the demo contact centres. */
export interface Cast {
  tenantId: string;
  domain: string;
  people: readonly string[];
  analysts: readonly string[];
  agents: readonly string[];
  queues: readonly [string, ...string[]];
  ivrs: readonly string[];
  /** Prefix of telephone numbers that are reserved for fiction. */
  dialPrefix: string;
  language: string;
}

/** Values of a member of a state, one of which a change sets. */
type Choices = Readonly<Record<string, readonly [unknown, ...unknown[]]>>;

const days = ['mon', 'tue', 'wed', 'thu', 'fri'];
const hoursUntil = (to: string) => ({ from: '08:00', to, days });
const level = (percent: number, withinSeconds: number) => ({ percent, withinSeconds });
const greetings = [
  'Welcome! Your call may be recorded for quality.',
  'Hello and thank you for calling.',
  'Olá! Obrigado por ligar para nós.',
  'Good day. Please choose one of the following options.',
] as const;

/** What changes of a resource of each type. */
const changing: Readonly<Record<string, Choices>> = {
  queue: {
    maxWaitSeconds: [20, 30, 45, 60, 90, 120],
    strategy: ['longest_idle', 'skills_first', 'round_robin'],
    serviceLevel: [level(75, 30), level(80, 20), level(85, 20), level(90, 15)],
    music: ['calm-piano', 'bossa-nova', 'string-quartet'],
  },
  agent: {
    skills: [['bookings'], ['support', 'refunds'], ['changes', 'bookings'], ['support']],
    maxChats: [1, 2, 3, 4, 5],
    active: [true, false],
    extension: ['2014', '2106', '2277', '2451', '2630', '2908'],
  },
  ivr: {
    timeoutSeconds: [5, 6, 8, 10, 12, 15],
    greeting: greetings,
    hours: [hoursUntil('18:00'), hoursUntil('20:00'), hoursUntil('22:00')],
    afterHours: ['voicemail', 'callback', 'announcement'],
  },
  did: {
    smsEnabled: [true, false],
    callerIdName: ['Support', 'Bookings', 'Care team', 'Customer service'],
  },
  recording_policy: {
    percent: [10, 15, 25, 50, 100],
    retentionDays: [30, 90, 180, 365],
    pauseOnCardEntry: [true, false],
  },
  user_role: {
    permissions: [
      ['queues.edit', 'agents.edit', 'wallboard.view'],
      ['queues.edit', 'exports.create'],
      ['recordings.listen', 'transcripts.read', 'recordings.delete'],
      ['dids.assign', 'reports.view'],
    ],
  },
};

/** The state after a random change; may be the same state. */
export function edited(dice: Dice, { type, state }: Resource): State {
  const choices = Object.entries(changing[type] ?? {});
  const [member, values] = choices[dice.whole(0, choices.length - 1)] ?? [];
  return member === undefined || !values ? state : { ...state, [member]: dice.pick(values) };
}

/** Everything that a contact centre has on its first day. */
export function firstResources(dice: Dice, cast: Cast): Resource[] {
  const [first, second = first] = cast.queues;
  const drawn = (type: string): State =>
    Object.fromEntries(
      Object.entries(changing[type] ?? {}).map(([member, values]) => [member, dice.pick(values)]),
    );
  const make = (type: string, name: string, state: State): Resource => {
    return { type, id: dice.uuid(), name, state };
  };
  const dids = cast.queues.slice(0, 6).map((queue, index) => {
    const number = `${cast.dialPrefix}${String(100 + index).padStart(4, '0')}`;
    return make('did', number, { number, routesTo: queue, callerIdName: queue, smsEnabled: false });
  });
  const menu = [
    { key: '1', prompt: `For ${first}`, queue: first },
    { key: '2', prompt: `For ${second}`, queue: second },
    { key: '9', prompt: 'To hear this again', queue: null },
  ];
  const storage = { region: 'eu-central-1', encrypted: true };
  const policy = { storage, pauseOnCardEntry: true, announce: true };
  return [
    ...cast.queues.map((name) => make('queue', name, { ...drawn('queue'), overflowTo: null })),
    ...cast.agents.map((name) =>
      make('agent', name, { ...drawn('agent'), language: cast.language }),
    ),
    ...cast.ivrs.map((name) => make('ivr', name, { ...drawn('ivr'), menu })),
    ...dids,
    make('recording_policy', 'All inbound', { ...policy, percent: 100, retentionDays: 90 }),
    make('recording_policy', 'Quality sample', { ...policy, percent: 15, retentionDays: 365 }),
    make('user_role', 'Team leader', drawn('user_role')),
    make('user_role', 'Quality analyst', { permissions: ['recordings.listen'] }),
    make('user_role', 'Administrator', { permissions: ['*'] }),
  ];
}
