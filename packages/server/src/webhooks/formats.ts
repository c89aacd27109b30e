import { datadog } from './format/datadog.ts';
import { elastic } from './format/elastic.ts';
import { generic } from './format/generic.ts';
import { splunkHec } from './format/splunk-hec.ts';
import type { StreamFormat } from './format/stream-format.ts';

export type StreamFormatName = 'splunk_hec' | 'datadog' | 'elastic' | 'generic';

/** The formats of streams; `webhook`, the service's own, is not one of them. */
export const streamFormats: Record<StreamFormatName, StreamFormat> = {
  splunk_hec: splunkHec,
  datadog,
  elastic,
  generic,
};
