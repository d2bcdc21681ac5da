import type { Reasons } from './tracked-table.ts';

const TLS = 'certificates are always checked; set ca of the host under upstreams';
const DRAWN = 'maps are always composed from tiles of the nearest zoom';
/** Why fields of `mapproxy.yaml` are left out. */
export const REASONS: Reasons = {
  base: 'the files that it names are not there',
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

const FORMATS = 'set infoFormats of the layers instead';
const ADDRESSES = 'other addresses than the usual ones are not answered: change those of the clients';
const BOTH = 'both ways are answered';
/** Why fields of `services` are left out. */
export const SERVICE_REASONS: Reasons = {
  attribution: 'set attribution of the layers instead',
  bbox_srs: 'the boxes in capabilities cannot be chosen',
  featureinfo_formats: FORMATS,
  featureinfo_types: FORMATS,
  featureinfo_xslt: 'answers of map servers are passed on as they are',
  image_formats: 'maps are offered in every format that can be made here',
  kvp: BOTH,
  max_output_pixels: 'the largest map has 8192 × 8192 pixels',
  md: 'the metadata of another service are used for all',
  on_source_errors: 'a map is an error when one of its sources fails',
  origin: 'set server.compatibility: [mapproxy]; an address without a known grid counts rows from the top',
  restful: BOTH,
  restful_featureinfo_template: ADDRESSES,
  restful_template: ADDRESSES,
  strict: 'a request must always have what the standard requires',
  use_grid_names: 'grids are known by name and by SRS: set server.compatibility: [mapproxy]',
  versions: 'every version is offered',
};
