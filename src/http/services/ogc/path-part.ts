/** RFC 3986, 3.3: a colon may stand in a path, and clients look for names such as `EPSG:4326` in addresses. */
export function pathPart(name: string): string {
  return encodeURIComponent(name).replaceAll('%3A', ':');
}
