/** The data have no seas; these are named where there is room for the name. */
export interface Water {
  readonly name: string;
  readonly longitude: number;
  readonly latitude: number;
  /** About how many degrees the name may span. */
  readonly width: number;
}

export const WATERS: readonly Water[] = [
  { name: 'Pacific Ocean', longitude: -140, latitude: 12, width: 80 },
  { name: 'Pacific Ocean', longitude: 164, latitude: 24, width: 40 },
  { name: 'Atlantic Ocean', longitude: -43, latitude: 29, width: 45 },
  { name: 'South Atlantic Ocean', longitude: -14, latitude: -28, width: 40 },
  { name: 'South Pacific Ocean', longitude: -118, latitude: -35, width: 60 },
  { name: 'Indian Ocean', longitude: 80, latitude: -22, width: 45 },
  { name: 'Southern Ocean', longitude: 45, latitude: -60, width: 80 },
  { name: 'Southern Ocean', longitude: -130, latitude: -62, width: 80 },
  { name: 'Arctic Ocean', longitude: -160, latitude: 78, width: 60 },
  { name: 'Norwegian Sea', longitude: 2, latitude: 67.5, width: 15 },
  { name: 'North Sea', longitude: 3.2, latitude: 56.3, width: 6 },
  { name: 'Barents Sea', longitude: 39, latitude: 74, width: 22 },
  { name: 'Greenland Sea', longitude: -6, latitude: 76.5, width: 20 },
  { name: 'Labrador Sea', longitude: -53, latitude: 59.5, width: 14 },
  { name: 'Hudson Bay', longitude: -85.5, latitude: 59.5, width: 12 },
  { name: 'Gulf of Mexico', longitude: -90.5, latitude: 25.2, width: 13 },
  { name: 'Caribbean Sea', longitude: -74.5, latitude: 14.8, width: 15 },
  { name: 'Mediterranean Sea', longitude: 18.5, latitude: 34.6, width: 15 },
  { name: 'Black Sea', longitude: 34.5, latitude: 43.2, width: 9 },
  { name: 'Caspian Sea', longitude: 50.8, latitude: 41.6, width: 5 },
  { name: 'Red Sea', longitude: 38, latitude: 20.4, width: 5 },
  { name: 'Arabian Sea', longitude: 64, latitude: 15, width: 16 },
  { name: 'Bay of Bengal', longitude: 88.3, latitude: 14.5, width: 12 },
  { name: 'South China Sea', longitude: 114, latitude: 14, width: 10 },
  { name: 'Philippine Sea', longitude: 132, latitude: 18, width: 15 },
  { name: 'Sea of Japan', longitude: 134.5, latitude: 40, width: 9 },
  { name: 'Sea of Okhotsk', longitude: 149, latitude: 53, width: 14 },
  { name: 'Bering Sea', longitude: -178, latitude: 58, width: 20 },
  { name: 'Coral Sea', longitude: 154, latitude: -17, width: 12 },
  { name: 'Tasman Sea', longitude: 160, latitude: -38, width: 14 },
  { name: 'Weddell Sea', longitude: -44, latitude: -70, width: 24 },
  { name: 'Ross Sea', longitude: -174, latitude: -74.5, width: 24 },
  { name: 'Baltic Sea', longitude: 19.4, latitude: 56.6, width: 3.4 },
];
