// Adds duetime.toml to the module, as asc has no option for that.
import { readFileSync } from "node:fs";

export default class {
  afterCompile(module) {
    module.addCustomSection("duetime", readFileSync(new URL("duetime.toml", import.meta.url)));
  }
}
