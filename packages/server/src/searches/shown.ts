import { formatHex, formatTimestamp, panelRoot, typeId } from '@indelible/protocol';
import type { PublishedCheckpoint } from '../log/checkpoint.store.ts';
import { shownGap } from '../sources/tell-sources.ts';
import type { Covered } from './coverage.ts';
import { searchIdPrefix } from './erased-since.ts';
import type { AnswerNow } from './evidence.ts';
import type { SavedSearch } from './store.ts';

const shownAnswer = ({ matched, digest }: Pick<SavedSearch, 'matched' | 'digest'>) => ({
  matched: { value: matched },
  digest: formatHex(digest),
});

type Checkpoint = Pick<PublishedCheckpoint, 'size' | 'root' | 'note'>;

const shownCheckpoint = ({ size, root, note }: Checkpoint) => ({
  size,
  rootHash: formatHex(root),
  note,
});

/** A saved search as answers show it. */
export function shownSearch(search: SavedSearch, publicUrl: string) {
  const { checkpointSize: size, checkpointRoot: root, checkpointNote: note } = search;
  const id = typeId(searchIdPrefix, search.id);
  return {
    id,
    url: `${publicUrl}${panelRoot}/searches/${id}`,
    filters: JSON.parse(search.filters),
    note: search.note,
    createdAt: formatTimestamp(search.createdAtMs),
    createdBy: { id: search.createdById, email: search.createdByEmail },
    checkpoint: shownCheckpoint({ size, root, note }),
    ...shownAnswer(search),
  };
}

export const shownCovered = ({ firstReceivedMs, lastReceivedMs, gaps, ...source }: Covered) => ({
  ...source,
  firstReceivedAt: formatTimestamp(firstReceivedMs),
  lastReceivedAt: formatTimestamp(lastReceivedMs),
  gaps: gaps.map(shownGap),
});

/** The answer of this moment. */
export function shownNow({ answer, checkpoint, recordedSince, sources, ...verdicts }: AnswerNow) {
  return {
    ...shownAnswer(answer),
    ...verdicts,
    recordedSince: { value: recordedSince },
    sources: sources.map(shownCovered),
    checkpoint: checkpoint && shownCheckpoint(checkpoint),
  };
}
