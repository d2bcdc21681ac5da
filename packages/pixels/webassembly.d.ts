/** What Node.js has of WebAssembly and we use; its types come with those of browsers only. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(module: Module);
  }
  interface Global {
    readonly value: number;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
}
