export {
  type CutGrid,
  copyPart,
  filledImage,
  type ImagePart,
  type RasterImage,
  type Samples,
  samplesOf,
} from '../../packages/pixels/image.ts';
