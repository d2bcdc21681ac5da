import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { licences } from './licences.ts';

export default defineConfig({
  plugins: [react()],
  // Addresses relative to the page: it works under any prefix and behind any proxy.
  base: './',
  define: { LICENCES: JSON.stringify(licences()) },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    // The page's security policy allows files of the server only, so nothing is written into others.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
