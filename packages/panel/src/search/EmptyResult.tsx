import { SearchX } from 'lucide-react';
import type { ComponentProps } from 'react';
import { Button } from '../components/Button.tsx';
import { Notice } from '../components/States.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { useNamedCriteria } from './CriteriaList.tsx';
import { changed, type Searching, withoutFacet } from './event-search.ts';
import { widerPreset } from './time-range.ts';

interface EmptyResultProps extends Omit<Searching, 'nowMs'> {
  /** What it means that there is nothing without any filter. */
  none?: Pick<ComponentProps<typeof Notice>, 'title' | 'Icon' | 'tone'>;
}

/** Repeats the criteria of a search without results, and offers to widen it. */
export function EmptyResult({ search, change, none }: EmptyResultProps) {
  const t = useTexts();
  const isFiltered = Object.keys(search.facets).length > 0;
  const criteria = useNamedCriteria(search);
  const wider = widerPreset(search.range);
  return (
    <Notice title={t.empty.title} Icon={SearchX} {...(!isFiltered && none)}>
      <p>{t.empty.text}</p>
      <dl className="my-3 space-y-0.5">
        {criteria.map(({ name, text }) => (
          <div key={name} className="flex justify-center gap-1.5">
            <dt>{name}:</dt>
            <dd className="min-w-0 truncate font-medium text-ink">{text}</dd>
          </div>
        ))}
      </dl>
      <div className="flex flex-wrap justify-center gap-2">
        {wider && (
          <Button
            onClick={() => change(changed(search, { range: { kind: 'last', preset: wider } }))}
          >
            {t.empty.widen({ range: t.range[wider] })}
          </Button>
        )}
        {criteria.map(
          ({ name, facet }) =>
            facet && (
              <Button
                key={name}
                onClick={() =>
                  change(changed(search, { facets: withoutFacet(search.facets, facet) }))
                }
              >
                {t.empty.without({ filter: name })}
              </Button>
            ),
        )}
      </div>
    </Notice>
  );
}
