export const MAP_STYLES = ['light', 'dark', 'outline'] as const;
export type MapStyleName = (typeof MAP_STYLES)[number];

export interface Stroke {
  readonly colour: string;
  /** In pixels. */
  readonly width: number;
}

export interface MapStyle {
  readonly sea: string;
  /** Drawn along the coast on the sea side, widest first. */
  readonly shallows: readonly Stroke[];
  /** Neighbouring countries get different ones. */
  readonly land: readonly string[];
  readonly ice: string;
  readonly coast: Stroke;
  /** Beneath the border proper, wider and fainter. */
  readonly borderTint: Stroke | null;
  readonly border: Stroke;
  readonly graticule: string;
  /** The equator and the meridian of Greenwich. */
  readonly mainLines: string;
  readonly waterName: string;
  readonly degrees: string;
  readonly name: string;
  readonly halo: string;
}

const LIGHT: MapStyle = {
  sea: '#c4dcea',
  shallows: [
    { colour: '#cde3ee', width: 18 },
    { colour: '#d6e9f2', width: 9 },
  ],
  land: ['#f6f1e4', '#eef0de', '#f7ecdc', '#f1ece6', '#ebeee6', '#f4eeda'],
  ice: '#fafbfc',
  coast: { colour: '#7d9fb3', width: 0.9 },
  borderTint: { colour: 'rgba(168, 140, 160, 0.18)', width: 5 },
  border: { colour: '#a79aa6', width: 0.9 },
  graticule: 'rgba(70, 110, 135, 0.16)',
  mainLines: 'rgba(70, 110, 135, 0.30)',
  waterName: '#6f9ab3',
  degrees: 'rgba(64, 96, 116, 0.75)',
  name: '#55505c',
  halo: 'rgba(255, 255, 255, 0.8)',
};

const DARK: MapStyle = {
  sea: '#101a26',
  shallows: [
    { colour: '#13202e', width: 18 },
    { colour: '#172737', width: 9 },
  ],
  land: ['#2c3742', '#303a3f', '#313848', '#2a3a3f', '#353a3f', '#2d3642'],
  ice: '#3a4550',
  coast: { colour: '#4d6b80', width: 0.9 },
  borderTint: { colour: 'rgba(140, 160, 190, 0.07)', width: 5 },
  border: { colour: '#56636f', width: 0.9 },
  graticule: 'rgba(150, 190, 220, 0.11)',
  mainLines: 'rgba(150, 190, 220, 0.22)',
  waterName: '#4d6d86',
  degrees: 'rgba(140, 175, 200, 0.65)',
  name: '#b3bfca',
  halo: 'rgba(16, 24, 34, 0.75)',
};

const OUTLINE: MapStyle = {
  sea: '#ffffff',
  shallows: [],
  land: ['#ffffff'],
  ice: '#ffffff',
  coast: { colour: '#2f3a43', width: 0.9 },
  borderTint: null,
  border: { colour: '#98a2aa', width: 0.9 },
  graticule: 'rgba(60, 75, 88, 0.13)',
  mainLines: 'rgba(60, 75, 88, 0.26)',
  waterName: '#8b98a3',
  degrees: 'rgba(60, 75, 88, 0.7)',
  name: '#4a545c',
  halo: 'rgba(255, 255, 255, 0.9)',
};

export const STYLES: Readonly<Record<MapStyleName, MapStyle>> = {
  light: LIGHT,
  dark: DARK,
  outline: OUTLINE,
};
