import { revealed, type Target } from '@indelible/protocol';
import { Value } from './Value.tsx';

/** How people call a target: its name, or else its own id or id. */
export const targetName = ({ name, externalId, id = '' }: Target): string =>
  revealed(name ?? externalId ?? id);

/** A further resource that the action concerned, to filter by. */
export function TargetValue({ target }: { target: Target }) {
  const { id, externalId = '' } = target;
  const value = id ?? externalId;
  const label = targetName(target);
  return (
    <Value facet="target" value={value} label={label} {...(id && { resourceId: id })}>
      <bdi>{label}</bdi>
    </Value>
  );
}
