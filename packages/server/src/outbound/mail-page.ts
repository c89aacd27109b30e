/* What mail looks like, as HTML: one column that reads well without any style. */

/** A name must neither begin lines of its own nor turn the direction of what follows it. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
}

/** For any place within the page, attributes too. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export function paragraph(html: string): string {
  return `<p style="margin:0 0 12px">${html}</p>`;
}

/** Facts by label; values may hold anything. */
export function table(facts: [label: string, value: string][]): string {
  const cell = 'padding:6px 12px 6px 0;text-align:left;vertical-align:top';
  const rows = facts.map(
    ([label, value]) =>
      `<tr><th scope="row" class="muted" style="${cell};font-weight:normal;color:#57606a">${label}</th>` +
      `<td style="${cell};word-break:break-word;overflow-wrap:anywhere"><bdi>${escapeHtml(value)}</bdi></td></tr>`,
  );
  return `<table style="margin:16px 0;border-collapse:collapse;font-size:15px">${rows.join('\n')}</table>`;
}

/** The one thing to do; `label` is our own words. */
export function linkButton(url: string, label: string): string {
  return `<p style="margin:24px 0"><a class="button" href="${escapeHtml(url)}" style="${button}">${label}</a></p>`;
}

/** Below everything, for those who wonder. */
export function small(html: string): string {
  return `<p class="muted" style="margin:24px 0 0;font-size:13px;color:#57606a">${html}</p>`;
}

const button =
  'display:inline-block;padding:12px 20px;border-radius:6px;background:#0b57d0;color:#ffffff;' +
  'font-weight:600;text-decoration:none';

// Styles stand on the elements, because many mail programs drop style sheets; the dark ones can
// only stand in one, where they need to be stronger.
const dark = `@media (prefers-color-scheme: dark) {
  body, .card { background: #16181c !important; color: #e6e6e6 !important; }
  .muted { color: #a8b0ba !important; }
  .button { background: #a8c7fa !important; color: #062e6f !important; }
}`;

/** A whole message; `title` and `parts` go into it as they are. */
export function mailPage(locale: string, title: string, parts: string[]): string {
  return `<!doctype html>
<html lang="${locale}" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${title}</title>
<style>${dark}</style>
</head>
<body style="margin:0;padding:0;background:#ffffff;color:#1f2328">
<main class="card" style="max-width:560px;margin:0 auto;padding:24px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${title}</h1>
${parts.join('\n')}
</main>
</body>
</html>
`;
}
