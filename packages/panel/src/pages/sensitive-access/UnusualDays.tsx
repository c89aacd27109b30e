import { TriangleAlert } from 'lucide-react';
import { AppLink } from '../../components/AppLink.tsx';
import { MoreButton, useShown } from '../../components/more.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { type PersonDays, timesUsual } from './access-days.ts';

interface UnusualDaysProps {
  people: readonly PersonDays[];
  /** The address of the person's events from the start of a day to its end. */
  hrefOf: (person: PersonDays, day: number) => string;
}

/** The days that stand out, above the map: who, when, how many, and the way to the events. */
export function UnusualDays({ people, hrefOf }: UnusualDaysProps) {
  const t = useTexts();
  const formats = useFormats();
  const all = people
    .flatMap((person) => person.unusual.map((unusual) => ({ person, ...unusual })))
    .sort((a, b) => timesUsual(b) - timesUsual(a));
  const { shown, more } = useShown(all, 5);
  if (all.length === 0) return null;
  const title = t.sensitiveAccess.unusualDays({ count: all.length });
  return (
    <section
      aria-label={title}
      className="mx-4 mb-4 rounded-lg border border-warn/30 bg-warn-soft px-4 py-3 lg:mx-6"
    >
      <h2 className="flex items-center gap-2 font-semibold text-warn">
        <TriangleAlert aria-hidden className="size-4 shrink-0" />
        {title}
      </h2>
      <ul className="mt-1.5 space-y-1">
        {shown.map(({ person, day, count, usual }) => (
          <li key={`${person.user} ${day}`} className="wrap-anywhere">
            <AppLink href={hrefOf(person, day)} className="link font-medium">
              {person.label}, {formats.day(day)}
            </AppLink>
            : {t.sensitiveAccess.accesses({ count })}
            {usual > 0 && `, ${t.sensitiveAccess.usually({ count: usual })}`}
          </li>
        ))}
      </ul>
      <MoreButton {...more} />
    </section>
  );
}
