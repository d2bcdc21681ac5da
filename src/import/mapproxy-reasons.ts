import type { Reasons } from './tracked-table.ts';

const TLS = 'certificates are always checked; set ca of the host under upstreams';
const DRAWN = 'maps are always composed from tiles of the nearest zoom';
/** Why fields of `mapproxy.yaml` are left out. */
export const REASONS: Reasons = {
  base: 'the files that it names are not there',
  services: 'every service is offered for every layer',
  ssl_no_cert_checks: TLS,
  ssl_ca_certs: TLS,
  colors: 'tiles in image/png have all colours; declare image/png8 for palettes, at addresses of its own',
  link_single_color_images: 'tiles of one colour are always stored once',
  bulk_meta_tiles: 'tile sources are asked for one tile at a time',
  concurrent_requests: 'set concurrency of the host under upstreams instead',
  concurrent_tile_creators: 'set concurrency of the host under upstreams instead',
  use_direct_from_level: DRAWN,
  use_direct_from_res: DRAWN,
  upscale_tiles: 'set onMiss: parent of the layer instead',
  downscale_tiles: DRAWN,
  access_control_allow_origin: 'every origin may read public tiles',
};
