import type { IndelibleClient, TenantSettings } from '@indelible/client';
import { nullWhenMissing } from '../connection.ts';
import { noProgress } from '../verify/log-source.ts';
import { demoHistory } from './history.ts';
import type { Cast } from './resources.ts';

interface DemoTenant {
  cast: Cast;
  seed: number;
  settings: Partial<TenantSettings>;
}

/** The demo tenants; fixed ids, so that a second start finds them. */
export const demoTenants: readonly [DemoTenant, ...DemoTenant[]] = [
  {
    seed: 20,
    settings: {
      name: 'Aurora Travel',
      plan: 'Enterprise',
      timeZone: 'America/New_York',
      locale: 'en',
      notifyEmails: ['audit@aurora.example'],
    },
    cast: {
      tenantId: 'a0a0a0a0-0000-4000-8000-00000000a001',
      domain: 'aurora.example',
      people: ['dana.whitfield', 'marcus.lee', 'ines.okafor', 'tom.brandt'],
      analysts: ['rhea.kapoor', 'sam.ortega', 'lena.fischer'],
      agents: ['Amir Haddad', 'Bea Lindqvist', 'Chidi Eze', 'Dora Nagy', 'Elif Aydin', 'Femi Ade'],
      queues: ['Bookings', 'Changes', 'Baggage', 'Refunds', 'Corporate desk', 'Español'],
      ivrs: ['Main menu', 'After hours', 'Corporate menu'],
      dialPrefix: '+1555010',
      language: 'en',
    },
  },
  {
    seed: 7,
    settings: {
      name: 'Clínica Horizonte',
      plan: 'Pro',
      timeZone: 'America/Sao_Paulo',
      locale: 'pt-BR',
      notifyEmails: ['auditoria@horizonte.example'],
    },
    cast: {
      tenantId: 'b0b0b0b0-0000-4000-8000-00000000b002',
      domain: 'horizonte.example',
      people: ['joana.prado', 'caio.mendes'],
      analysts: ['livia.rocha', 'otavio.lima'],
      agents: ['Aline Souza', 'Bruno Reis', 'Célia Nunes', 'Davi Moura'],
      queues: ['Agendamento', 'Resultados', 'Convênios', 'Ouvidoria'],
      ivrs: ['Menu principal', 'Plantão'],
      dialPrefix: '+5511550',
      language: 'pt-BR',
    },
  },
];

/** Loads demo tenants with half a year of history each. Skips existing tenants. */
export async function loadDemo(
  client: IndelibleClient,
  nowMs: number,
  tenants: readonly DemoTenant[] = demoTenants,
  progress = noProgress,
): Promise<void> {
  const missing: DemoTenant[] = [];
  for (const tenant of tenants) {
    const known = await client.tenants.get(tenant.cast.tenantId).catch(nullWhenMissing);
    if (known === null) missing.push(tenant);
  }
  const histories = missing.map(({ cast, seed }) => demoHistory(cast, seed, nowMs));
  const total = histories.reduce((sum, events) => sum + events.length, 0);
  if (total > 0) progress.stage('demonstration events', total);
  for (const [index, { cast, settings }] of missing.entries()) {
    await client.tenants.put(cast.tenantId, settings);
    const events = histories[index] ?? [];
    const results = await client.recordBatch(events);
    const refused = results.find(({ status }) => status === 'rejected');
    if (refused) throw new Error(`a demonstration event was refused: ${refused.error?.detail}`);
    progress.advance(events.length);
  }
}
