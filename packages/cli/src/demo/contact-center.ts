import type { EventInput } from '@indelible/client';
import type { Dice } from './dice.ts';
import { type Cast, firstResources, type Resource } from './resources.ts';

/** A person or program that acts in the contact centre. */
export type Actor = EventInput['actor'] & { id: string };

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
      id: dice.uuid(),
      externalId: 'routing-copilot',
      name: 'Routing copilot',
      type: 'agent',
      email: null,
      role: 'admin',
    },
    resources: firstResources(dice, cast),
  };
}

function atLeastOne<T>(list: readonly T[]): readonly [T, ...T[]] {
  const [first, ...others] = list;
  if (first === undefined) throw new Error('a contact centre needs people of each kind');
  return [first, ...others];
}
