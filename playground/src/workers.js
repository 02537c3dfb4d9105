// Workers from the page's own text, since a page opened from a file can load no other script.
"use strict";

const workers = (() => {
  let compiled = null;
  let address = null;

  /** Unpacks the page's content, once. */
  async function prepare() {
    const packed = Uint8Array.from(atob(document.getElementById("wasm").textContent.trim()), (c) => c.charCodeAt(0));
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    compiled = await WebAssembly.compile(await new Response(plain).arrayBuffer());
    const script = [document.getElementById("engine").textContent, document.getElementById("worker").textContent].join("\n");
    address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  }

  class Hand {
    constructor() {
      this.waiting = new Map();
      this.last = 0;
      this.start();
    }

    start() {
      this.worker = new Worker(address);
      this.worker.postMessage({ module: compiled });
      this.worker.onmessage = ({ data }) => {
        const asked = this.waiting.get(data.id);
        if (!asked) return;
        if (data.share !== undefined) return asked.progress?.(data.share);
        this.waiting.delete(data.id);
        if (data.mistake) asked.reject(Object.assign(new Error(data.mistake.message), data.mistake));
        else asked.resolve(data.done);
      };
      this.worker.onerror = (event) => this.stop(new Error(event.message || "the worker stopped"));
    }

    ask(message, progress) {
      const id = ++this.last;
      return new Promise((resolve, reject) => {
        this.waiting.set(id, { resolve, reject, progress });
        this.worker.postMessage({ id, ...message });
      });
    }

    /** Stops all work in progress at once. */
    stop(why = Object.assign(new Error("cancelled"), { cancelled: true })) {
      this.worker.terminate();
      for (const { reject } of this.waiting.values()) reject(why);
      this.waiting.clear();
    }
  }

  return { prepare, Hand };
})();
