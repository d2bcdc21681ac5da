import { STORAGE_UNITS } from '../../quota/quota-configuration.ts';

const LABEL_WIDTH = 20;

/** A size in a unit that does not exist. Section 7 of the specification asks for an answer of several lines. */
export class UnknownUnit extends Error {
  readonly report: string;

  /** `line` is -1 where a format has no lines to speak of. */
  constructor(given: string, field: string, line: number) {
    const unit = visible(given);
    const message = `Unknown unit ${unit}: ${field} must be one of ${Object.keys(STORAGE_UNITS).join(', ')}`;
    super(message);
    this.name = 'UnknownUnit';
    this.report = [
      message,
      '---- Debugging information ----',
      row('message', message),
      row('cause-exception', 'IllegalArgumentException'),
      row('cause-message', `No storage unit is called ${unit}`),
      row('class', 'tileQuotaConfiguration'),
      row('required-type', 'StorageUnit'),
      row('line number', String(line)),
      '',
    ].join('\n');
  }
}

function row(label: string, value: string): string {
  return `${label.padEnd(LABEL_WIDTH)}: ${value}`;
}

/** A unit comes from a caller; what would break the line is made visible. */
function visible(text: string): string {
  return text.replace(/\p{Control}/gu, '\ufffd');
}
