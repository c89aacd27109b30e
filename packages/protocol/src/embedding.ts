import { isObject } from './json/strict-json.ts';
import { type Locale, locales } from './locales.ts';

/* What a host's page and the panel in its frame tell each other by `postMessage`. */

/** How the panel looks inside the host's page. What is absent stays as it is. */
export interface Appearance {
  /** `none`: without the panel's navigation and settings, for a page that has its own. */
  chrome?: 'full' | 'none';
  theme?: 'system' | 'light' | 'dark';
  /** The colour of links, buttons and marks, `#rrggbb`, for the light and the dark theme. */
  accent?: { light: string; dark: string };
  /** The corners of buttons and fields, 0 to 16 pixels. */
  radius?: number;
  font?: FontName;
  locale?: Locale;
}

/** Fonts are the reader's own: the panel loads none. */
const fontNames = ['system', 'arial', 'georgia', 'inter', 'roboto', 'verdana'] as const;
export type FontName = (typeof fontNames)[number];

export type HostMessage =
  | { type: 'indelible:token'; jwt: string; tenantId?: string }
  | { type: 'indelible:appearance'; appearance: Appearance }
  /** Opens a page of the panel. */
  | { type: 'indelible:go'; path: string };

export type PanelMessage =
  /** Listens to the host from now on. */
  | { type: 'indelible:loaded' }
  /** Needs a token. */
  | { type: 'indelible:ready' }
  /** Shows this page, with its search. */
  | { type: 'indelible:location'; path: string }
  /** Is so many pixels high. */
  | { type: 'indelible:height'; height: number }
  /** Did not apply the appearance. */
  | { type: 'indelible:refused'; problem: string };

/** Null for any other message. The content of an appearance and of a path is not checked here. */
export function readHostMessage(data: unknown): HostMessage | null {
  if (!isObject(data)) return null;
  const { type, jwt, tenantId, path, appearance } = data;
  if (type === 'indelible:token' && typeof jwt === 'string') {
    return { type, jwt, ...(typeof tenantId === 'string' && { tenantId }) };
  }
  if (type === 'indelible:go' && typeof path === 'string') return { type, path };
  if (type === 'indelible:appearance') return { type, appearance: appearance as Appearance };
  return null;
}

const radiusMax = 16;
/** The accent's contrast on surfaces; above WCAG's 4.5, because text also stands on its tint. */
const contrastMin = 5.5;
const surfaces = { light: '#ffffff', dark: '#1e2126' } as const;
const colour = /^#[0-9a-f]{6}$/i;

type Rules = { readonly [Name in keyof Appearance]-?: (value: unknown) => string | null };

const oneOf = (values: readonly string[]) => (value: unknown) =>
  values.some((each) => each === value) ? null : `must be one of ${values.join(', ')}`;

const rules: Rules = {
  chrome: oneOf(['full', 'none']),
  theme: oneOf(['system', 'light', 'dark']),
  accent: problemOfAccent,
  radius: (value) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= radiusMax
      ? null
      : `must be a whole number from 0 to ${radiusMax}`,
  font: oneOf(fontNames),
  locale: oneOf(locales),
};

/**
 * An appearance from outside the panel, or why it is refused as a whole. Every value is one of a
 * list or has a strict form, so that none can carry CSS.
 */
export function readAppearance(data: unknown): { appearance: Appearance } | { problem: string } {
  if (!isObject(data)) return { problem: 'the appearance must be an object' };
  for (const [name, value] of Object.entries(data)) {
    const rule = Object.hasOwn(rules, name) ? rules[name as keyof Appearance] : undefined;
    const problem = rule ? rule(value) : `is unknown; known: ${Object.keys(rules).join(', ')}`;
    if (problem !== null) return { problem: `${name.slice(0, 40)} ${problem}` };
  }
  return { appearance: data };
}

function problemOfAccent(value: unknown): string | null {
  if (!isObject(value)) return 'must have the colours light and dark';
  const unknown = Object.keys(value).find((name) => name !== 'light' && name !== 'dark');
  if (unknown !== undefined) return 'may have the colours light and dark only';
  for (const theme of ['light', 'dark'] as const) {
    const own = value[theme];
    if (typeof own !== 'string' || !colour.test(own)) return `.${theme} must be like #2f3fae`;
    const contrast = contrastOf(own, surfaces[theme]);
    if (contrast < contrastMin) {
      return `.${theme} has a contrast of ${contrast.toFixed(1)} to ${surfaces[theme]}: choose one of at least ${contrastMin}`;
    }
  }
  return null;
}

/** The contrast of two colours by WCAG 2, from 1 to 21. */
function contrastOf(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
