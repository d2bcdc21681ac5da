import { isTilewardenError } from '../../../domain/errors.ts';
import { contentTypeOf, formatOf } from '../../../domain/format.ts';
import type { Logger } from '../../../lib/logger.ts';
import { element, writeXml } from '../../../lib/xml/write-xml.ts';
import { checkMapSize } from '../../../pipeline/map-composer.ts';
import type { NoticePainter } from '../../../pipeline/notice-painter.ts';
import type { Answer, Headers } from '../../answer.ts';
import { CallerGone, type Exchange } from '../../exchange.ts';
import { HttpProblem, problemOf, statusOf } from '../../problems.ts';
import type { Handler } from '../../route.ts';
import type { Kvp } from '../kvp.ts';
import { WmsException } from './wms-exception.ts';
import { backgroundColour, isTrue, readWmsQuery, wholeNumber } from './wms-parameters.ts';
import { negotiatedVersion, versionOf, type WmsVersion } from './wms-version.ts';

type ExceptionForm = 'xml' | 'inimage' | 'blank';

interface Report {
  readonly status: number;
  readonly code: string | null;
  readonly locator: string | null;
  readonly message: string;
  readonly headers: Headers;
}

const FORMS: Readonly<Record<string, ExceptionForm>> = {
  'application/vnd.ogc.se_inimage': 'inimage',
  inimage: 'inimage',
  'application/vnd.ogc.se_blank': 'blank',
  blank: 'blank',
};

/** Version 1.1.1 knows no locators; what its DTD does not declare is declared here. */
const DOCTYPE =
  '<!DOCTYPE ServiceExceptionReport SYSTEM "http://schemas.opengis.net/wms/1.1.1/exception_1_1_1.dtd" [<!ATTLIST ServiceException locator CDATA #IMPLIED>]>';
const NOT_KEPT: Headers = ['Cache-Control', 'no-store'];

/** Whatever goes wrong in `handler` is told in the form that was asked for. Who has to log in is told so by status and header. */
export function withWmsExceptions(handler: Handler, paint: NoticePainter, log: Logger): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (error) {
      if (error instanceof CallerGone || error instanceof HttpProblem) throw error;
      const report = reportOf(error, exchange, log);
      const asked = readWmsQuery(exchange);
      return (
        (await pictureOf(report, asked, paint, exchange.signal)) ?? documentOf(report, versionOfReport(asked))
      );
    }
  };
}

function reportOf(error: unknown, exchange: Exchange, log: Logger): Report {
  if (error instanceof WmsException) {
    const { code, locator, message, meaning } = error;
    return { status: statusOf(meaning), code, locator, message, headers: NOT_KEPT };
  }
  const { answer, unexpected } = problemOf(error, exchange.id);
  const details = { requestId: exchange.id, path: exchange.path, err: error };
  if (unexpected) log.error(details, 'A request failed unexpectedly');
  return {
    status: answer.status,
    code: null,
    locator: null,
    message: String(answer.body).trimEnd(),
    // Without the first pair, which says that the body is text.
    headers: answer.headers.slice(2),
  };
}

/** WMS 1.3.0, 7.3.3.11. Null: a document is wanted, or no picture can be made of what is asked for, or not now. */
async function pictureOf(
  report: Report,
  asked: Kvp,
  paint: NoticePainter,
  signal: AbortSignal,
): Promise<Answer | null> {
  const form = formOf(asked);
  const frame = form === 'xml' ? null : frameOf(asked);
  if (!frame) return null;
  const text = form === 'inimage' ? report.message : '';
  const body = await paint({ ...frame, text }, signal).catch(unlessBusy);
  if (!body) return null;
  // It is meant to be shown in place of the map, and programs show no picture that comes with an error's status.
  return {
    status: 200,
    headers: ['Content-Type', contentTypeOf(frame.format, body), ...report.headers],
    body,
  };
}

function unlessBusy(error: unknown): null {
  if (isTilewardenError(error, 'source-busy')) return null;
  throw error;
}

function formOf(asked: Kvp): ExceptionForm {
  return quietly(() => FORMS[asked('EXCEPTIONS')?.toLowerCase() ?? '']) ?? 'xml';
}

function frameOf(asked: Kvp) {
  return quietly(() => {
    const format = formatOf(asked('FORMAT') ?? 'image/png');
    const [width, height] = [wholeNumber(asked, 'WIDTH'), wholeNumber(asked, 'HEIGHT')];
    checkMapSize(width, height);
    if (format?.kind !== 'raster') return null;
    const background = format.alpha && isTrue(asked, 'TRANSPARENT') ? null : backgroundColour(asked);
    return { width, height, format, background };
  });
}

/** What is wrong has been found already; a second mistake must not hide it. */
function quietly<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof CallerGone) throw error;
    return null;
  }
}

function versionOfReport(asked: Kvp): WmsVersion {
  return quietly(() => versionOf(asked)) ?? quietly(() => negotiatedVersion(asked)) ?? '1.3.0';
}

/** WMS 1.3.0, annex E.2, and WMS 1.1.1, annex A.3. */
function documentOf({ status, code, locator, message, headers }: Report, version: WmsVersion): Answer {
  const exception = element('ServiceException', message, {
    ...(code !== null && { code }),
    ...(locator !== null && { locator }),
  });
  const newer = version === '1.3.0';
  const report = element('ServiceExceptionReport', [exception], {
    version,
    ...(newer && { xmlns: 'http://www.opengis.net/ogc' }),
  });
  const start = ['<?xml version="1.0" encoding="UTF-8"?>', ...(newer ? [] : [DOCTYPE])].join('\n');
  const type = newer ? 'text/xml; charset=utf-8' : 'application/vnd.ogc.se_xml; charset=utf-8';
  return { status, headers: ['Content-Type', type, ...headers], body: `${start}\n${writeXml(report)}\n` };
}
