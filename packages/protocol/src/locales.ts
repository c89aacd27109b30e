/** The languages of mail and panel; each has its texts in both. */
export const locales = ['de', 'en', 'es', 'pt-BR'] as const;
export type Locale = (typeof locales)[number];
