import { formatHex, identityMembers, segmentNames } from '@indelible/protocol';
import { eventJson } from '../events/prepared-event.ts';
import type { ArchivedRow } from './archived-row.ts';

/** The body line of a row, as in bundles: `{"event":…,"salts":…}`; null without an event. */
export function bodyLine({ sequence, receivedAtUs, body }: ArchivedRow): string | null {
  if (body === null) return null;
  const { event, salts, hashes } = body;
  const hasState = Boolean(salts[stateIndex] ?? hashes[stateIndex]);
  const receivedAtMs = Math.floor(receivedAtUs / 1_000);
  const json = eventJson({ ...event, sequence, receivedAtMs, erased: null }, true, hasState);
  const erased = hashes.some((hash) => hash !== null) ? `,"hashes":${hexOf(hashes)}` : '';
  const names = identityMembers(event);
  const named = names ? `,"identityMembers":${JSON.stringify(names)}` : '';
  return `{"event":${json},"salts":${hexOf(salts)}${erased}${named}}`;
}

const stateIndex = segmentNames.indexOf('state');

function hexOf(list: readonly (Uint8Array | null)[]): string {
  const pairs = segmentNames.flatMap((name, index) => {
    const bytes = list[index];
    return bytes ? [[name, formatHex(bytes)]] : [];
  });
  return JSON.stringify(Object.fromEntries(pairs));
}
