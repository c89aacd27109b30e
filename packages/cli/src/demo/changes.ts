import type { State } from '@indelible/client';
import type { ContactCenter, Resource } from './contact-center.ts';
import type { Dice } from './dice.ts';

/** A change of a resource of each type: returns its new state. */
const edits: Record<string, (dice: Dice, state: State, center: ContactCenter) => State> = {
  queue: (dice, state) =>
    dice.pick<State>([
      { ...state, maxWaitSeconds: dice.pick([20, 30, 45, 60, 90, 120]) },
      { ...state, strategy: dice.pick(['longest_idle', 'skills_first', 'round_robin']) },
      {
        ...state,
        serviceLevel: {
          percent: dice.pick([75, 80, 85, 90]),
          withinSeconds: dice.pick([15, 20, 30]),
        },
      },
      { ...state, music: dice.pick(['calm-piano', 'bossa-nova', 'string-quartet']) },
    ]),
  agent: (dice, state, center) =>
    dice.pick<State>([
      { ...state, skills: skillsAfter(dice, state, center) },
      { ...state, maxChats: dice.whole(1, 5) },
      { ...state, active: !(state.active ?? true) },
      { ...state, extension: String(dice.whole(2000, 2999)) },
    ]),
  ivr: (dice, state) =>
    dice.pick<State>([
      { ...state, timeoutSeconds: dice.whole(5, 15) },
      { ...state, greeting: dice.pick(greetings) },
      {
        ...state,
        hours: {
          ...(state.hours as State),
          to: dice.pick(['18:00', '20:00', '22:00']),
        },
      },
      { ...state, afterHours: dice.pick(['voicemail', 'callback', 'announcement']) },
    ]),
  did: (dice, state) => ({
    ...state,
    smsEnabled: dice.chance(0.5),
    callerIdName: callerName(dice),
  }),
  recording_policy: (dice, state) =>
    dice.pick<State>([
      { ...state, percent: dice.pick([10, 15, 25, 50, 100]) },
      { ...state, retentionDays: dice.pick([30, 90, 180, 365]) },
      { ...state, pauseOnCardEntry: !state.pauseOnCardEntry },
    ]),
  user_role: (dice, state) => ({
    ...state,
    permissions: toggled(state.permissions as string[], dice.pick(permissions)),
  }),
};

const greetings = [
  'Welcome! Your call may be recorded for quality.',
  'Hello and thank you for calling.',
  'Olá! Obrigado por ligar para nós.',
  'Good day. Please choose one of the following options.',
] as const;

const permissions = [
  'exports.create',
  'recordings.delete',
  'queues.edit',
  'dids.assign',
  'reports.view',
] as const;

function callerName(dice: Dice): string {
  return dice.pick(['Support', 'Bookings', 'Care team', 'Customer service']);
}

function toggled(list: readonly string[], word: string): string[] {
  return list.includes(word) ? list.filter((one) => one !== word) : [...list, word];
}

function skillsAfter(dice: Dice, state: State, center: ContactCenter): string[] {
  const queues = center.resources.filter(({ type }) => type === 'queue');
  const skill = queues[dice.whole(0, queues.length - 1)]?.name.toLowerCase() ?? 'support';
  const after = toggled(state.skills as string[], skill);
  return after.length === 0 ? [skill] : after;
}

/** The state after a random change; may be the same state. */
export function edited(dice: Dice, resource: Resource, center: ContactCenter): State {
  const edit = edits[resource.type];
  return edit === undefined ? resource.state : edit(dice, resource.state, center);
}
