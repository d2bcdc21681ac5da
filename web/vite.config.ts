import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { licences } from './licences.ts';

const COMMON =
  /node_modules\/(react|react-dom|scheduler)\/|web\/locales\/en\.json$|web\/src\/(api|parts)\/|web\/src\/(console|format|login|route|session|shell|sidebar|texts)\.tsx?$/;

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
    rolldownOptions: {
      output: {
        // What every page needs is one file: a dozen small ones take a slow processor longer than their content does.
        codeSplitting: { groups: [{ name: 'console', test: COMMON }] },
      },
    },
  },
});
