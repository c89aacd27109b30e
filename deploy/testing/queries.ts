import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const deploy = join(import.meta.dirname, '..');

interface Panel {
  title: string;
  targets?: { expr: string }[];
}

/** Every query of the dashboard, by its panel. */
export function dashboardQueries(): { title: string; query: string }[] {
  const text = readFileSync(join(deploy, 'grafana/dashboard.json'), 'utf8');
  const { panels }: { panels: Panel[] } = JSON.parse(text);
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, query: expr })),
  );
}
