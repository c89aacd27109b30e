import type { FieldKind, MemberRule } from './event-fields.ts';
import { isUuid, uuidFromEventId } from './event-id.ts';
import {
  codePointOf,
  cutText,
  isExternalId,
  isLonger,
  isRecordedEmail,
  isRole,
  isVisible,
  isWord,
  revealedLine,
  wordForm,
} from './field-rules.ts';
import { canonicalIp, plainIp } from './ip-address.ts';
import type { Notes } from './notes.ts';
import { parseTimestamp, timeForm } from './timestamp.ts';

/** Gives back the usable part of a JSON value; undefined if nothing is to be stored. */
export type Take = (value: unknown, notes: Notes) => unknown;

interface TextKind {
  fits(text: string): boolean;
  is: string;
  /** The stored form of a text that fits. */
  stored?: (text: string) => string;
  /** A usable text in place of one that does not fit, if the field cannot be empty. */
  mended?: (text: string) => string;
}

const inNfc = (text: string) => text.normalize('NFC');

/** The format of each kind of text, with its description for error messages. */
const textKinds: Partial<Record<FieldKind, TextKind>> = {
  eventId: {
    fits: (text) => uuidFromEventId(text) !== null,
    is: 'a TypeID: evt_audit_ and a UUIDv7 in base32',
  },
  uuid: { fits: isUuid, is: 'a UUID' },
  word: { fits: isWord, is: wordForm },
  // No invisible characters, so that a role cannot imitate another one. Nothing is taken away from
  // one that does not fit, so that it becomes no other role.
  role: {
    fits: isRole,
    is: 'a text of visible characters',
    mended: (text) => {
      const shown = revealedLine(text.replace(/^ | $|(?<= ) |[^\S ]/g, codePointOf));
      return isRole(shown) ? shown : [...text].map(codePointOf).join('');
    },
  },
  // A blank one would stand in lists in place of the id.
  name: { fits: isVisible, is: 'a text with a visible character' },
  externalId: {
    fits: isExternalId,
    is: 'an id of visible characters without a leading !',
    stored: inNfc,
  },
  tenant: { fits: isExternalId, is: 'a UUID, or an own id of visible characters' },
  traceId: { fits: (text) => /^[0-9a-f]{32}$/i.test(text), is: '32 hexadecimal digits' },
  email: { fits: isRecordedEmail, is: 'an e-mail address of visible characters', stored: inNfc },
  ip: { fits: (text) => plainIp(text) !== null, is: 'an IP address' },
  time: { fits: (text) => parseTimestamp(text) !== null, is: timeForm },
};

/** What is needed of a field, or of a member of an object in it. */
export interface TextRule
  extends Pick<MemberRule, 'kind' | 'lengthMax' | 'values' | 'unless' | 'unusable'> {
  nullable?: boolean;
}

const anyText: TextKind = { fits: () => true, is: 'a text' };

function textKind({ kind, values }: TextRule): TextKind {
  if (values) return { fits: (text) => values.includes(text), is: `one of ${values.join(', ')}` };
  return textKinds[kind] ?? anyText;
}

/** Takes a text by its rule. The length counts first: a format may take seconds of a long text. */
export function textTake(rule: TextRule, path: string): Take {
  const { kind, lengthMax = Infinity, nullable, unusable, values } = rule;
  const { fits, is, stored = (text) => text, mended } = textKind(rule);
  return (value, notes) => {
    if (nullable && (value === null || value === '')) return value;
    if (typeof value !== 'string') {
      notes.refuse(path, 'invalid_type', `must be ${nullable ? 'a text or null' : 'a text'}`);
      return undefined;
    }
    if (value === '' && kind === 'role') {
      notes.refuse(path, 'too_short', 'is shorter than 1 characters');
      return undefined;
    }
    const isLong = isLonger(value, lengthMax);
    if (unusable === undefined) {
      if (isLong) notes.refuse(path, 'too_long', `is longer than ${lengthMax} characters`);
      else if (!fits(value))
        notes.refuse(path, values ? 'invalid_value' : 'invalid_format', `is not ${is}`);
      return value;
    }
    const cut = isLong && unusable === 'cut' ? cutText(value, lengthMax) : value;
    const kept = kind === 'externalId' && cut !== value ? cut.trimEnd() : cut;
    if ((isLong && unusable === 'drop') || !fits(kept)) {
      notes.dropped(path, value);
      const other = cutText(mended?.(kept.slice(0, 2 * lengthMax)) ?? '', lengthMax);
      return other === '' ? undefined : other;
    }
    if (isLong) notes.cut(path, value, kept);
    return kind === 'ip' ? address(kept, path, notes) : stored(kept);
  };
}

/** Takes a port, a zone and further addresses off: only the first address is stored. */
function address(text: string, path: string, notes: Notes): string | null {
  const plain = plainIp(text);
  if (plain !== null && canonicalIp(text) === null) notes.cut(path, text, plain);
  return plain;
}
