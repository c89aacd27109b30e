import { useState } from 'react';
import { client } from '../../api.ts';
import { SelectField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useReader } from '../../i18n/texts.tsx';
import { serviceNow } from '../../service-clock.ts';
import { useAlertChange } from './use-alerts.ts';

const hours = [1, 24, 7 * 24, 29 * 24, 89 * 24];
const later = (fromMs: number, count: number) => fromMs + count * 3_600_000;

/** Asks how long no message tells of a rule's alerts. */
export function MuteSheet({ id, name, close }: { id: string; name: string; close: () => void }) {
  const { t, formats } = useReader();
  const [chosen, setChosen] = useState(String(7 * 24));
  const mute = useAlertChange(() =>
    client.alerts.mute(id, new Date(later(serviceNow(), Number(chosen))).toISOString()),
  );
  return (
    <ConfirmSheet
      title={t.alerts.mute({ name })}
      confirm={t.alerts.muteIt}
      action={mute}
      go={() => mute.mutate(undefined, { onSuccess: close })}
      close={close}
    >
      <SelectField
        label={t.alerts.muteFor}
        hint={t.alerts.muteText}
        value={chosen}
        choose={setChosen}
        options={hours.map((each) => ({
          value: String(each),
          text: formats.relative(later(0, each), 0),
        }))}
      />
    </ConfirmSheet>
  );
}
