/** As Java prints a double: `1.0`, `2.5E7`, `2.8E-4`. Scripts may compare such texts. */
export function javaDouble(value: number): string {
  return javaText(value, value.toExponential());
}

/** As Java prints the nearest float: `5.0`, `33.333332`, `1.2345678E7`. */
export function javaFloat(value: number): string {
  const float = Math.fround(value);
  const enough = [0, 1, 2, 3, 4, 5, 6, 7]
    .map((digits) => float.toExponential(digits))
    .find((text) => Math.fround(Number(text)) === float);
  return javaText(float, enough ?? float.toExponential(8));
}

/** `exponential`: as many digits as the number needs. */
function javaText(value: number, exponential: string): string {
  const size = Math.abs(value);
  if (size === 0) return '0.0';
  const [digits = '', exponent = '0'] = exponential.split('e');
  if (size >= 1e-3 && size < 1e7) return withPoint(String(Number(exponential)));
  return `${withPoint(digits)}E${Number(exponent)}`;
}

function withPoint(digits: string): string {
  return digits.includes('.') ? digits : `${digits}.0`;
}
