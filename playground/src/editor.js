// The editor of a scenario, with completion from the language's schema and marked mistakes.
"use strict";

const editor = (() => {
  const { EditorView, EditorState, StreamLanguage } = codemirror;

  const colours = codemirror.HighlightStyle.define([
    { tag: codemirror.tags.comment, color: "var(--soft)" },
    { tag: codemirror.tags.string, color: "var(--string)" },
    { tag: [codemirror.tags.number, codemirror.tags.bool, codemirror.tags.atom], color: "var(--number)" },
    { tag: [codemirror.tags.propertyName, codemirror.tags.heading], color: "var(--ink)", fontWeight: "600" },
  ]);

  /** Puts an editor into `parent`; `changed(text)` is called a moment after the last key. */
  function create(parent, schema, changed) {
    let late = null;
    const told = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      clearTimeout(late);
      late = setTimeout(() => changed(view.state.doc.toString()), 400);
    });
    const view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          codemirror.lineNumbers(),
          codemirror.history(),
          codemirror.closeBrackets(),
          codemirror.highlightActiveLine(),
          codemirror.lintGutter(),
          StreamLanguage.define(codemirror.toml),
          codemirror.syntaxHighlighting(colours),
          codemirror.autocompletion({ override: [(context) => complete(context, schema)] }),
          codemirror.keymap.of([...codemirror.completionKeymap, ...codemirror.defaultKeymap, ...codemirror.historyKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Scenario, in TOML" }),
          told,
        ],
      }),
    });
    return {
      view,
      text: () => view.state.doc.toString(),
      /** Replaces the text without a call of `changed`. */
      show(text) {
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
        clearTimeout(late);
      },
      /** Underlines a mistake, or removes the underline. */
      mark(mistake) {
        const diagnostics = [];
        if (mistake?.line && mistake.line <= view.state.doc.lines) {
          const line = view.state.doc.line(mistake.line);
          const from = Math.min(line.from + Array.from(line.text).slice(0, mistake.column - 1).join("").length, line.to);
          const word = /^[\w.$-]+/.exec(view.state.doc.sliceString(from, line.to));
          const to = from + (word ? word[0].length : Math.min(1, line.to - from));
          const message = mistake.hint ? `${mistake.message}\n${mistake.hint}` : mistake.message;
          diagnostics.push({ from, to, severity: "error", message });
        }
        view.dispatch(codemirror.setDiagnostics(view.state, diagnostics));
      },
    };
  }

  /** Returns completions: keys of the section at the cursor, or values of the key before it. */
  function complete(context, schema) {
    const before = context.state.doc.sliceString(0, context.pos);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const header = /^\s*\[+([\w.]*)$/.exec(line);
    if (header) {
      const sections = Object.entries(schema.properties).filter(([, of]) => plain(of, schema).type !== "string");
      return { from: context.pos - header[1].length, options: sections.map(([label, of]) => ({ label, type: "namespace", info: of.description })) };
    }
    const { path, chosen } = place(before);
    const tables = tables_at(schema, path, chosen);
    const value = /^\s*([\w-]+)\s*=\s*("?)([\w-]*)$/.exec(line);
    if (value) {
      const options = tables.flatMap((table) => values_of(table.properties?.[value[1]], schema));
      const quoted = (word) => (value[2] || typeof word !== "string" ? String(word) : `"${word}"`);
      const unique = [...new Map(options.map((option) => [option.word, option])).values()];
      return { from: context.pos - value[3].length, options: unique.map(({ word, info }) => ({ label: quoted(word), type: "enum", info })) };
    }
    const key = /^\s*([\w-]*)$/.exec(line);
    if (!key || (!key[1] && !context.explicit)) return null;
    const keys = new Map(tables.flatMap((table) => Object.entries(table.properties ?? {})));
    return { from: context.pos - key[1].length, options: [...keys].filter(([, of]) => of !== false).map(([label, of]) => ({ label, type: "property", info: of.description, apply: `${label} = ` })) };
  }

  /** The section that a text ends in, and the words that its keys name so far. */
  function place(before) {
    const headers = [...before.matchAll(/^\s*\[+([\w.]+)\]+/gm)];
    const last = headers.at(-1);
    const body = last ? before.slice(last.index + last[0].length) : before;
    const chosen = Object.fromEntries([...body.matchAll(/^\s*([\w-]+)\s*=\s*"([^"\n]*)"/gm)].map(([, key, word]) => [key, word]));
    return { path: last ? last[1].split(".") : [], chosen };
  }

  const plain = (of, schema) => (of?.$ref ? plain(schema.$defs[of.$ref.split("/").at(-1)], schema) : of ?? {});

  /** Returns every table at a path: of variants, the chosen one, or else all. */
  function tables_at(schema, path, chosen) {
    let tables = [schema];
    for (const word of path) {
      tables = tables.flatMap((table) => unfold(table.properties?.[word], schema, {}));
    }
    return path.length ? tables.flatMap((table) => unfold(table, schema, chosen)) : tables;
  }

  function unfold(of, schema, chosen) {
    const one = plain(of, schema);
    if (one.items) return unfold(one.items, schema, chosen);
    const inner = [...(one.oneOf ?? []), ...(one.anyOf ?? []), ...(one.allOf ?? [])].flatMap((each) => unfold(each, schema, chosen));
    // A variant has its own word, or false where the key must be missing.
    const allows = (of, word) => word === undefined || (of !== false && (of.const === undefined || of.const === word));
    const fits = (table) => Object.entries(table.properties ?? {}).every(([key, of]) => allows(of, chosen[key]));
    return [...(one.properties ? [one] : []), ...inner].filter(fits);
  }

  function values_of(of, schema) {
    const one = plain(of, schema);
    const own = [...(one.enum ?? []), ...("const" in one ? [one.const] : []), ...(one.type === "boolean" ? [true, false] : [])];
    const info = one.description;
    return [
      ...own.map((word) => ({ word, info })),
      ...[...(one.oneOf ?? []), ...(one.anyOf ?? []), ...(one.items ? [one.items] : [])].flatMap((each) => values_of(each, schema)),
    ];
  }

  return { create, complete };
})();
