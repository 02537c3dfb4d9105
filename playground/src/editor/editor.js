// The editor of a scenario, with completion from the language's schema and marked mistakes.
import { complete } from "./completion.js";

/** @import { EditorState } from "@codemirror/state" */
/** @import { MistakeDetails, Schema } from "../types.d.ts" */

// The time without a key after which a change is told, in ms.
const PAUSE = 400;

/** An editor in a part of the page. */
export class Editor {
  /**
   * Creates the editor; `changed(text)` is called a moment after the last key.
   *
   * @param {HTMLElement} parent
   * @param {Schema} schema
   * @param {(text: string) => void} changed
   */
  constructor(parent, schema, changed) {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.late = undefined;
    const told = codemirror.EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      clearTimeout(this.late);
      this.late = setTimeout(() => changed(update.view.state.doc.toString()), PAUSE);
    });
    const state = codemirror.EditorState.create({ extensions: [...extensions(schema), told] });
    this.view = new codemirror.EditorView({ parent, state });
  }

  /** Moves the keyboard's focus into the text. */
  focus() {
    this.view.focus();
  }

  /**
   * Replaces the text without a call of `changed`.
   *
   * @param {string} text
   */
  show(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    clearTimeout(this.late);
  }

  /**
   * Underlines a mistake, or removes the underline.
   *
   * @param {MistakeDetails | null} mistake
   */
  mark(mistake) {
    const { state } = this.view;
    const diagnostics = mistake?.line && mistake.line <= state.doc.lines ? [diagnostic(state, mistake)] : [];
    this.view.dispatch(codemirror.setDiagnostics(state, diagnostics));
  }
}

/**
 * Returns the extensions of CodeMirror for a scenario.
 *
 * @param {Schema} schema
 */
function extensions(schema) {
  return [
    codemirror.lineNumbers(),
    codemirror.history(),
    codemirror.closeBrackets(),
    codemirror.highlightActiveLine(),
    codemirror.lintGutter(),
    codemirror.StreamLanguage.define(codemirror.toml),
    codemirror.syntaxHighlighting(colours()),
    codemirror.autocompletion({ override: [(context) => complete(context, schema)] }),
    codemirror.keymap.of([
      ...codemirror.completionKeymap,
      ...codemirror.defaultKeymap,
      ...codemirror.historyKeymap,
    ]),
    codemirror.EditorView.lineWrapping,
    codemirror.EditorView.contentAttributes.of({ "aria-label": "Scenario, in TOML" }),
  ];
}

/** Returns the colours of TOML. */
function colours() {
  const { tags } = codemirror;
  return codemirror.HighlightStyle.define([
    { tag: tags.comment, color: "var(--soft)" },
    { tag: tags.string, color: "var(--string)" },
    { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
    { tag: [tags.propertyName, tags.heading], color: "var(--ink)", fontWeight: "600" },
  ]);
}

/**
 * Returns the underline of a mistake: from its column to the end of the word.
 *
 * @param {EditorState} state
 * @param {MistakeDetails} mistake
 */
function diagnostic(state, { line: at, column, message, hint }) {
  const line = state.doc.line(at ?? 1);
  const before = Array.from(line.text)
    .slice(0, (column ?? 1) - 1)
    .join("");
  const from = Math.min(line.from + before.length, line.to);
  const word = /^[\w.$-]+/.exec(state.doc.sliceString(from, line.to));
  const to = from + (word ? word[0].length : Math.min(1, line.to - from));
  const severity = /** @type {const} */ ("error");
  return { from, to, severity, message: hint ? `${message}\n${hint}` : message };
}
