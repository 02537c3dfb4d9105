// The data that the modules exchange: the state of the page, requests to the simulator, and results of runs.
import type { Editor } from "./editor/editor.js";
import type { Player } from "./replay/player.js";
import type { Hand } from "./simulator/workers.js";

// --- Contents of the page

export interface Scenario {
  name: string;
  title: string;
  text: string;
}

/** One run of a comparison. */
export interface Variant {
  label: string;
  transport: string;
  set?: string[];
}

/** An entry of lessons.json. */
export interface Lesson {
  id: string;
  title: string;
  /** The name of a scenario; without it, `text` is the scenario. */
  scenario?: string;
  text?: string;
  set?: string[];
  moments?: number;
  penalty?: boolean;
  story: string;
  question: string;
  options: string[];
  /** The index of the right option. */
  right: number;
  runs: Variant[];
  reveal: string;
}

// --- State of the page

/** A moved slider: its value, and the overrides for it. */
export interface Move {
  value: number;
  set: string[];
}

/** The choices of the reader, as a link stores them. */
export interface State {
  /** The name of the scenario; null for a changed one. */
  scenario: string | null;
  text: string;
  transports: string[];
  /** The simulated time; empty for that of the scenario. */
  duration: string;
  /** The length of the first moments in ms; null for an automatic one. */
  moments: number | null;
  set: string[];
  /** The moved sliders, by name. */
  moved: Record<string, Move>;
}

/** A state with the lesson, as a link stores it. */
export interface Shared extends State {
  lesson?: string;
}

export interface Session {
  scenarios: Scenario[];
  lessons: Lesson[];
  state: State;
  /** The moved sliders, by name. */
  moved: Record<string, Move>;
  lesson: Lesson | null;
  /** The index of the option that the reader predicts. */
  guess: number | null;
  /** The results on the page. */
  runs: Run[];
  /** The workers of the runs in progress. */
  hands: Hand[];
  /** The number of the latest change; a slower answer to a former one is dropped. */
  round: number;
  /** The timer of a run after a slider has moved. */
  later: ReturnType<typeof setTimeout> | undefined;
  /** The scenario with every default filled in; null before the first check. */
  resolved: Resolved | null;
  /** The plug-ins of the reader, by the names of their files. They are in no link. */
  modules: Record<string, number[]>;
  /** The worker that checks scenarios. */
  desk: Hand;
  editor: Editor;
  player: Player;
}

// --- Scenarios

/** An amount and its unit: bytes, microseconds or packets. */
export type Quantity = [amount: number, unit: string];

export interface Traffic {
  name: string;
  pattern: string;
  levels?: number;
  leaves: number;
  parents: number;
  deadline?: string | { base?: string };
  flows?: { deadline?: unknown }[];
  jitter?: string;
  load?: string | number;
}

export interface Network {
  topology: string;
  hosts: number;
  mark?: string;
  buffer: string;
  sharing?: string;
}

export interface Resolved {
  run: { warm_up: string };
  network: Network;
  traffic: Traffic[];
}

/** A mistake in a scenario, with its place. */
export interface MistakeDetails {
  message: string;
  file?: string | null;
  line?: number | null;
  column?: number | null;
  hint?: string | null;
  /** The message with the line and a caret. */
  shown?: string;
}

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  description?: string;
  properties?: Record<string, Schema | false>;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: Word[];
  const?: Word;
}

export type Word = string | number | boolean;

// --- Requests to the simulator, as in crates/wasm/src/ask.rs

/** A scenario to check or run, with the changes to it. */
export interface Asked {
  text: string;
  set?: string[];
  transport?: string;
  /** The plug-ins that it may name: the bytes of each, by its file's name. */
  modules?: Record<string, number[]>;
}

/** The selection of packets to log. */
export interface Log {
  from_us: number;
  until_us: number;
  most: number;
}

/** The fields of each request beside its verb. */
export interface Questions {
  catalog: object;
  schema: object;
  check: Asked;
  start: { of: Asked; log: Log | null };
  advance: { events: number };
  finish: object;
}

/** The answer to each request. */
export interface Answers {
  catalog: { transports: { name: string; help: string }[] };
  schema: Schema;
  check: { resolved: Resolved; notes: string[] };
  start: null;
  advance: { more: boolean; now_s: number; duration_s: number; packets_delivered: number };
  finish: Finished;
}

export type Verb = keyof Questions;
export type Question<V extends Verb> = { verb: V } & Questions[V];

/** A run for the page: the scenario, and the length of its first moments in ms. */
export interface Order {
  of: Asked;
  span_ms: number | null;
}

/** A message to a worker. */
export type Message = { module: WebAssembly.Module } | Job;
export type Job = { id: number; request?: Question<Verb>; run?: Order };

/** A message from a worker: a share of the work, the result, or a mistake. */
export interface Reply {
  id: number;
  share?: number;
  done?: unknown;
  mistake?: MistakeDetails;
}

export type Progress = (share: number) => void;

// --- Results

export type Signal = "cwnd" | "alpha" | "d" | "queue";

/** Percentiles by name; null where the end of the run hides one, with its lower bound in `at_least`. */
export interface Percentiles {
  [name: string]: number | null | Record<string, number> | undefined;
  at_least?: Record<string, number>;
}

/** The part of the requests' time that a stage took, in percent. */
export interface StageShare {
  network_percent: number | null;
  work_percent: number | null;
  waiting_percent: number | null;
}

/** The requests of several stages. */
export interface Requests {
  all_goals_percent: number | null;
  time_us: Percentiles;
  stages: Record<string, StageShare>;
  bound?: { missed_percent: number | null } | null;
}

/** The result of a run as `duetime run --json` prints it. */
export interface Report {
  summary: {
    missed_percent: number | null;
    fct_us: Percentiles | null;
    goodput_mbps: number | null;
    requests?: Requests;
  };
  bound?: { missed_percent: number | null } | null;
  busiest_queue?: { p50: number; p99: number } | null;
  drops: number;
  marks: number;
  timeouts: number;
  packet_hops: number;
}

/** A table: from the name of a column to its values. */
export interface Table {
  [column: string]: (string | number | boolean | null)[];
}

/** The messages of a run. */
export interface Flows extends Table {
  start_us: number[];
  fct_us: (number | null)[];
  deadline_us: (number | null)[];
  missed: (boolean | null)[];
}

/** The sampled signals of a run. */
export interface Trace {
  time_s: number[];
  what: Signal[];
  message: (number | null)[];
  link: (string | null)[];
  value: number[];
}

/** The links of a network, by their ends. */
export interface Links {
  src: string[];
  dst: string[];
}

export interface Wire {
  rate_bps: number;
  delay_us: number;
}

/** The log of packets: one row for each hop. */
export interface Packets {
  complete_until_us: number;
  at_us: number[];
  /** The row of the link in `Links`. */
  link: number[];
  /** The link that is next; null at the destination. */
  next: (number | null)[];
  lost: boolean[];
  connection: number[];
  seq: number[];
  size: number[];
  ack: boolean[];
  marked: boolean[];
  echo: boolean[];
  again: boolean[];
}

export interface Finished {
  json: string;
  resolved: Resolved;
  notes: string[];
  flows: Flows;
  /** The requests of several stages. */
  requests: Table;
  links: Links;
  wires: Wire[];
  trace: Trace;
  packets: Packets | null;
}

/** The first moments of a run, which are drawn. */
export interface Moments {
  from_us: number;
  span_us: number;
}

/** The result of an `Order`: the whole run, with the signals and packets of its first moments. */
export interface Done {
  contract: string;
  resolved: Resolved;
  notes: string[];
  flows: Flows;
  requests: Table;
  links: Links;
  wires: Wire[];
  moments: Moments;
  trace: Trace;
  packets: Packets;
}

/** A result as the page shows it. */
export interface Run extends Done {
  label: string;
  /** A colour of CSS. */
  colour: string;
  report: Report;
}
