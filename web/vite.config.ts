import { defineConfig } from 'vite';

export default defineConfig({
  // Addresses relative to the page: it works under any prefix and behind any proxy.
  base: './',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    // The page's security policy allows files of the server only, so nothing is written into others.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
});
