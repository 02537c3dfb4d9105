// Runs scenarios in node: a line of JSON in is what to run, a line of JSON out is what `duetime run --json` prints.
//     node wasm.cjs MODULE.wasm < requests
const fs = require("node:fs");

async function main() {
  const { Engine } = await import("../playground/src/simulator/engine.js");
  const compiled = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
  for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const began = performance.now();
    const done = new Engine(compiled).run(JSON.parse(line), null);
    process.stdout.write(`${JSON.stringify({ json: done.json, seconds: (performance.now() - began) / 1000 })}\n`);
  }
}

main();
