import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { acceptImage, photoLike } from '../../test/fixtures/pictures.ts';
import { isTilewardenError } from '../domain/errors.ts';

const image = photoLike(64, 32);
const png = await sharp(image.pixels, { raw: { width: 64, height: 32, channels: 4 } })
  .png()
  .toBuffer();
const EXCEPTION = `<?xml version="1.0"?>
<ServiceExceptionReport><ServiceException>no table at db.internal</ServiceException></ServiceExceptionReport>`;

async function refusal(bytes: Buffer | string, declared: string | null, width = 64, height = 32) {
  const error: unknown = await acceptImage(Buffer.from(bytes), declared, width, height).catch(
    (e: unknown) => e,
  );
  if (!isTilewardenError(error, 'source-bad-answer')) throw new Error('it was accepted');
  return error;
}

describe('acceptImage', () => {
  it.each(['image/png', 'image/png; mode=8bit', 'IMAGE/PNG', 'image/png8', null])(
    'acceptImage accepts a PNG of the right size called %s',
    async (declared) => {
      const accepted = await acceptImage(png, declared, 64, 32);
      expect(accepted.pixels.equals(image.pixels)).toBe(true);
    },
  );

  it.each([
    ['nothing', '', 'image/png', 'empty'],
    ['an exception', EXCEPTION, 'application/vnd.ogc.se_xml', 'service-exception'],
    ['an exception called a PNG', EXCEPTION, 'image/png', 'service-exception'],
    ['an exception after a byte order mark', `\uFEFF\n${EXCEPTION}`, 'image/png', 'service-exception'],
    ['a web page', '<!DOCTYPE html><html><body>Log in</body></html>', 'text/html', 'html'],
    ['an XHTML page', '<?xml version="1.0"?><html xmlns="x"/>', 'text/html', 'html'],
    ['text', 'msCGILoadMap(): out of memory', 'text/plain', 'not-an-image'],
    ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml', 'not-an-image'],
  ])('acceptImage refuses %s', async (_, body, declared, reason) => {
    expect((await refusal(body, declared)).reason).toBe(reason);
  });

  it('acceptImage refuses an image called something else', async () => {
    expect((await refusal(png, 'image/jpeg')).reason).toBe('wrong-type');
    expect((await refusal(png, 'text/html')).reason).toBe('wrong-type');
  });

  it('acceptImage refuses any other size, and half an image', async () => {
    expect((await refusal(png, 'image/png', 64, 33)).reason).toBe('wrong-size');
    expect((await refusal(png, 'image/png', 16, 16)).reason).toBe('oversized');
    expect((await refusal(png.subarray(0, png.length >> 1), 'image/png')).reason).toBe('truncated');
  });

  it("acceptImage keeps the server's text out of the message and in the cause", async () => {
    const error = await refusal(EXCEPTION, 'text/xml');
    expect(error.message).not.toContain('db.internal');
    expect(String(error.cause)).toContain('db.internal');
    expect(String((await refusal('x'.repeat(9000), null)).cause).length).toBeLessThan(600);
  });
});
