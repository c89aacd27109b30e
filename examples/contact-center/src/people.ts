/* Who works with the product. A real one has accounts; here a visitor picks a person. */

export interface Person {
  id: string;
  name: string;
  email: string;
  /** `superadmin` is the team that runs the product: it belongs to no tenant. */
  role: 'admin' | 'supervisor' | 'superadmin';
  tenantId: string | null;
}

export interface Tenant {
  id: string;
  name: string;
}

export const tenants: readonly Tenant[] = [
  { id: '6f1d2c3b-4a59-4e68-8d77-c0ffee000001', name: 'Harbor Insurance' },
  { id: '6f1d2c3b-4a59-4e68-8d77-c0ffee000002', name: 'Lumen Energy' },
];

const [harbor, lumen] = tenants.map(({ id }) => id);

export const people: readonly Person[] = [
  person(1, 'Ana Duarte', 'ana@harbor.example', 'admin', harbor),
  person(2, 'Leo Winter', 'leo@harbor.example', 'supervisor', harbor),
  person(3, 'Mia Okoye', 'mia@lumen.example', 'admin', lumen),
  person(9, 'Olga Petrov', 'olga@operator.example', 'superadmin', undefined),
];

function person(
  number: number,
  name: string,
  email: string,
  role: Person['role'],
  tenantId: string | undefined,
): Person {
  const id = `7a2e3d4c-5b6a-4f79-9e88-c0ffee00000${number}`;
  return { id, name, email, role, tenantId: tenantId ?? null };
}

export function findPerson(id: string | undefined): Person | null {
  return people.find((each) => each.id === id) ?? null;
}

export function findTenant(id: string | undefined): Tenant | null {
  return tenants.find((each) => each.id === id) ?? null;
}

/** Whether this person may change what is configured in this tenant. */
export function mayConfigure({ role, tenantId }: Person, wanted: string): boolean {
  return role === 'superadmin' || (role === 'admin' && tenantId === wanted);
}
