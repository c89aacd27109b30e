import type { RefObject } from 'react';
import { Dialog, Popover } from 'react-aria-components';
import { Checkbox } from '../components/fields.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { densities, listColumns } from './list-view.ts';
import { useColumnNames, useListView } from './use-list-view.ts';

interface ViewPickerProps {
  anchor: RefObject<HTMLElement | null>;
  close: () => void;
}

/** Chooses the columns of the list and the height of its rows. */
export default function ViewPicker({ anchor, close }: ViewPickerProps) {
  const t = useTexts();
  const nameOf = useColumnNames();
  const [{ columns, density }, choose] = useListView();
  const toggle = (column: (typeof listColumns)[number]) =>
    choose({
      columns: listColumns.filter((each) => columns.includes(each) !== (each === column)),
    });
  return (
    <Popover
      triggerRef={anchor}
      isOpen
      onOpenChange={(isOpen) => !isOpen && close()}
      placement="bottom end"
      className="pop w-52"
    >
      <Dialog aria-label={t.view.label} className="space-y-2 outline-none">
        <fieldset>
          <legend className="label px-2 py-1">{t.view.columns}</legend>
          {listColumns.map((column) => (
            <Checkbox
              key={column}
              className="option"
              checked={columns.includes(column)}
              // A list without columns would show nothing but times.
              disabled={columns.length === 1 && columns.includes(column)}
              change={() => toggle(column)}
            >
              {nameOf(column)}
            </Checkbox>
          ))}
        </fieldset>
        <fieldset>
          <legend className="label px-2 py-1">{t.view.density}</legend>
          {densities.map((each) => (
            <label key={each} className="option">
              <input
                type="radio"
                name="density"
                className="size-4 accent-accent"
                checked={density === each}
                onChange={() => choose({ density: each })}
              />
              {t.view[each]}
            </label>
          ))}
        </fieldset>
      </Dialog>
    </Popover>
  );
}
