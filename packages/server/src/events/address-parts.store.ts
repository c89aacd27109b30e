import type { TenantTx } from '../postgres/index.ts';
import { mostSelective } from './branches.store.ts';
import { compareAddresses } from './cold.store.ts';
import {
  byColumn,
  inClasses,
  Params,
  type SqlFilter,
  type Visibility,
} from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import { prepared } from './prepared-statement.ts';

/** The events of one address in a list by user: they are in the order of ids. */
export interface AddressPart {
  address: string;
  filter: SqlFilter;
  /** Where its events go on in the list; null: at the first of them. */
  position: ListPosition | null;
}

/**
 * A list in PostgreSQL by user as a list for each address of the wanted users, in order: nothing is
 * sorted, and no other address is read. Null: sorting the matches is quicker, or they have too many
 * addresses.
 */
export async function partsByAddress(
  tx: TenantTx,
  filter: SqlFilter,
  visible: Visibility,
  position: ListPosition | null,
  descending: boolean,
): Promise<AddressPart[] | null> {
  if (mostSelective(filter) !== 'user' || filter.among !== undefined) return null;
  const { any = [], none = [] } = filter.user ?? {};
  const values = byColumn('user', any);
  const [ids = []] = values.flatMap((part) => (part.type === 'uuid' ? [part.values] : []));
  const emails = values.flatMap((part) => (part.type === 'text' ? part.values : []));
  const known = ids.length === 0 ? [] : await addressesOf(tx, ids, visible);
  if (known.length > ids.length + furtherMax) return null;
  const addresses = new Set([...emails, ...known.map(({ address }) => address)]);
  const sign = descending ? -1 : 1;
  const compare = (a: string, b: string) => sign * compareAddresses(a, b);
  return [...addresses]
    .filter((address) => position === null || compare(address, position.emailKey) >= 0)
    .sort(compare)
    .map((address) => ({
      address,
      filter: { ...filter, ...usersOf(address, emails, known, none) },
      position: address === position?.emailKey ? position : null,
    }));
}

/**
 * Further addresses of all wanted users. Each looks into every partition, and takes a statement or
 * more where few of the users' events match the other filters.
 */
const furtherMax = 4;

interface ActorAddress {
  actor: string;
  address: string;
}

function usersOf(
  address: string,
  emails: readonly string[],
  known: readonly ActorAddress[],
  none: readonly string[],
): Pick<SqlFilter, 'user' | 'address'> {
  if (emails.includes(address)) return { user: { any: [address], none } };
  const any = known.filter((each) => each.address === address).map(({ actor }) => actor);
  const isOnly = known.every((each) => each.address === address || !any.includes(each.actor));
  // Without the condition, pages that are skipped need no row.
  return { user: { any, none }, ...(isOnly ? {} : { address }) };
}

/** The addresses of these actors, all unless there are too many. */
async function addressesOf(
  tx: TenantTx,
  actors: readonly string[],
  visible: Visibility,
): Promise<ActorAddress[]> {
  const known: ActorAddress[] = [];
  let wanted = actors.map((actor) => ({ actor, next: '' }));
  while (wanted.length > 0 && known.length <= actors.length + furtherMax) {
    const found = await nextAddresses(tx, wanted, visible);
    known.push(...found);
    // No text is between an address and the same with U+0001 behind it.
    wanted = found.map(({ actor, address }) => ({ actor, next: `${address}\u0001` }));
  }
  return known;
}

/** The first address of each actor from `next` on: an entry of an index in each partition. */
async function nextAddresses(
  tx: TenantTx,
  wanted: readonly { actor: string; next: string }[],
  { classes }: Visibility,
): Promise<ActorAddress[]> {
  const params = new Params();
  const actors = params.uuids(wanted.map(({ actor }) => actor));
  const nexts = params.texts(wanted.map(({ next }) => next));
  const { rows } = await tx.query<ActorAddress>(
    prepared(
      `SELECT wanted.actor, found.address FROM unnest(${actors}, ${nexts}) AS wanted (actor, next), LATERAL (
         SELECT min(actor_email_key) AS address FROM audit_events
         WHERE tenant_id = ${params.add(tx.tenantId)} AND ${inClasses(classes)}
           AND actor_id = wanted.actor AND actor_email_key >= wanted.next) AS found
       WHERE found.address IS NOT NULL`,
      params,
    ),
  );
  return rows;
}
