import type { SourceDriver } from '../source-driver.ts';
import { openLayerSource } from './layer-source.ts';
import { type LayerSourceOptions, layerSourceOptions } from './layer-source-options.ts';

export const layerDriver = {
  type: 'layer',
  options: layerSourceOptions,
  shown: ['layer', 'gridSet'],
  connection: [],
  pictures: 'resampled',
  passesCredentials: false,
  queryable: false,
  open: openLayerSource,
} as const satisfies SourceDriver<LayerSourceOptions>;
