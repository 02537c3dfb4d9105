// The libraries that are scripts of the page and not modules: the vendored editor, and the report's charts.
import * as plot_of_npm from "@observablehq/plot";
import * as codemirror_of_npm from "../editor/entry.js";

declare global {
  export import codemirror = codemirror_of_npm;
  export import Plot = plot_of_npm;
}
