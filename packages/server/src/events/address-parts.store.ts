import { mostSelective } from './branches.store.ts';
import {
  byColumn,
  inClasses,
  Params,
  type SqlFilter,
  type Visibility,
} from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import { afterAll } from './portions.ts';
import { rowsWith } from './prepared-statement.ts';

/** PostgreSQL compares addresses by their bytes. */
const compareAddresses = (a: string, b: string) => Buffer.from(a).compare(Buffer.from(b));

/** The events of one address in a list by user: they are in the order of ids. */
export interface AddressPart {
  address: string;
  filter: SqlFilter;
}

/** A part of a page by user: of one address, in the order of ids, or of several. */
interface PartOfPage {
  filter: SqlFilter;
  sort: 'timestamp' | 'user';
  /** Where it goes on; null: at its first event. */
  position: ListPosition | null;
}

/**
 * A page in PostgreSQL by user, in parts that follow one another: of wanted users, one for each
 * address. Nothing is sorted then, and no other address is read.
 */
export async function* partsOfPage(
  filter: SqlFilter,
  visible: Visibility,
  position: ListPosition | null,
  descending: boolean,
): AsyncGenerator<PartOfPage> {
  const { ids, emails } = wantedUsers(filter);
  let behind = position;
  if (!descending && ids.length > 0) {
    // The first address most often fills the page.
    const from = position?.emailKey ?? '';
    const wanted = ids.map((actor) => ({ actor, next: from }));
    const nearest = await nextAddresses(wanted, visible);
    const later = emails.filter((each) => compareAddresses(each, from) >= 0);
    const [address] = [...later, ...nearest.map((each) => each.address)].sort(compareAddresses);
    if (address === undefined) return;
    const users = { address, ...usersOf(address, emails, nearest, filter.user?.none) };
    const isSame = address === position?.emailKey;
    yield {
      filter: { ...filter, ...users },
      sort: 'timestamp',
      position: isSame ? position : null,
    };
    behind = { direction: 'next', uuid: afterAll, emailKey: address, sequence: 0 };
  }
  const parts = await partsByAddress(filter, visible, descending);
  if (parts === null) yield { filter, sort: 'user', position: behind };
  const sign = descending ? -1 : 1;
  for (const { address, filter } of parts ?? []) {
    const order = behind === null ? 1 : sign * compareAddresses(address, behind.emailKey);
    if (order < 0 || (order === 0 && behind !== position)) continue;
    yield { filter, sort: 'timestamp', position: order === 0 ? position : null };
  }
}

/** Of the whole list. Null if PostgreSQL is to sort it: the users have too many addresses. */
export async function partsByAddress(
  filter: SqlFilter,
  visible: Visibility,
  descending: boolean,
): Promise<AddressPart[] | null> {
  const { ids, emails } = wantedUsers(filter);
  if (ids.length + emails.length === 0) return null;
  const known = ids.length === 0 ? [] : await addressesOf(ids, visible);
  if (known.length > ids.length + furtherMax) return null;
  const addresses = new Set([...emails, ...known.map(({ address }) => address)]);
  const sign = descending ? -1 : 1;
  return [...addresses]
    .sort((a, b) => sign * compareAddresses(a, b))
    .map((address) => ({ address, filter: { ...filter, ...ofAddress(address) } }));

  function ofAddress(address: string): Partial<SqlFilter> {
    const users = usersOf(address, emails, known, filter.user?.none);
    const isOther = (each: ActorAddress) =>
      each.address !== address && users.user?.any.includes(each.actor);
    // Without the condition, pages that are skipped need no row.
    return known.some(isOther) ? { ...users, address } : users;
  }
}

/** The wanted users by id and by address; none if another condition finds the events. */
function wantedUsers(filter: SqlFilter): { ids: readonly string[]; emails: readonly string[] } {
  const isOfUsers = mostSelective(filter) === 'user' && filter.among === undefined;
  const values = byColumn('user', isOfUsers ? (filter.user?.any ?? []) : []);
  const ofType = (type: string) => values.find((part) => part.type === type)?.values ?? [];
  return { ids: ofType('uuid'), emails: ofType('text') };
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

/** The wanted users that have events of this address. */
function usersOf(
  address: string,
  emails: readonly string[],
  known: readonly ActorAddress[],
  none: readonly string[] = [],
): Pick<SqlFilter, 'user'> {
  const actors = known.filter((each) => each.address === address).map(({ actor }) => actor);
  return { user: { any: emails.includes(address) ? [address] : actors, none } };
}

/** The addresses of these actors, all unless there are too many. */
async function addressesOf(
  actors: readonly string[],
  visible: Visibility,
): Promise<ActorAddress[]> {
  const known: ActorAddress[] = [];
  let wanted = actors.map((actor) => ({ actor, next: '' }));
  while (wanted.length > 0 && known.length <= actors.length + furtherMax) {
    const found = await nextAddresses(wanted, visible);
    known.push(...found);
    // No text is between an address and the same with U+0001 behind it.
    wanted = found.map(({ actor, address }) => ({ actor, next: `${address}\u0001` }));
  }
  return known;
}

/** The first address of each actor from `next` on: an entry of an index in each partition. */
async function nextAddresses(
  wanted: readonly { actor: string; next: string }[],
  { tx, classes }: Visibility,
): Promise<ActorAddress[]> {
  const params = new Params();
  const actors = params.uuids(wanted.map(({ actor }) => actor));
  const nexts = params.texts(wanted.map(({ next }) => next));
  const rows = await rowsWith<ActorAddress>(tx, params)`
    SELECT wanted.actor, found.address FROM unnest(${actors}, ${nexts}) AS wanted (actor, next), LATERAL (
      SELECT min(actor_email_key) AS address FROM audit_events
      WHERE tenant_id = ${params.add(tx.tenantId)} AND ${inClasses(classes)}
        AND actor_id = wanted.actor AND actor_email_key >= wanted.next) AS found
    WHERE found.address IS NOT NULL`;
  return rows;
}
