// Decide about memories with a memvalue model file from JavaScript: ONNX Runtime and this file, nothing else.
//
//     npm install --ignore-scripts onnxruntime-node       (its script only fetches libraries for other hardware)
//     node decide.mjs model.onnx < rows.json
//
// rows.json holds the factors, seven numbers in [0, 1] a memory in the order that the model's metadata gives,
// and any of the optional columns, one number a memory:
//     {"factors": [[0, 0.3, 0, 0.8, 0.4, 0.9, 0]], "age_days": [12], "uses": [3]}
// Prints one line of JSON a memory:
//     {"value":0.41,"depth":"semantic","forget_risk":0.22,"forget_score":1.13,"rank_score":0.99}
// A second argument names another runtime, such as onnxruntime-web.
import { readFileSync } from "node:fs";

const DEPTHS = ["shallow", "semantic", "schematic", "meta"];
const FACTORS = 7;
// Neutral number, lowest and highest of the optional columns.
const COLUMNS = {
  age_days: [1, 0, Infinity],
  uses: [0, 0, Infinity],
  relevance: [1, 0, Infinity],
  use_strength: [0, -1, 1],
  harm: [0, 0, 1],
  machine: [0, 0, 1],
};

// The optional inputs have their neutral number as a default in the file. JavaScript's runtimes cannot feed
// such inputs (onnxruntime-web refuses them, onnxruntime-node ignores them without a word), so the defaults
// are taken out of the bytes before loading, and every column is passed.
function withoutDefaults(model) {
  return join([...fields(model)].map((p) => (p.number === 7 ? message(7, openGraph(p.body)) : p.whole)));
}

function openGraph(graph) {
  const parts = [...fields(graph)];
  const inputs = new Set(parts.filter((p) => p.number === 11).map((p) => name(p.body, 1)));
  return join(parts.filter((p) => p.number !== 5 || !inputs.has(name(p.body, 8))).map((p) => p.whole));
}

// The text in field `number` of a protobuf message.
function name(body, number) {
  return new TextDecoder().decode([...fields(body)].find((p) => p.number === number).body);
}

// The fields of a protobuf message: number, content where it is a string or message, and all its bytes.
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const start = at;
    const tag = varint();
    const wire = tag & 7;
    const size = wire === 2 ? varint() : { 1: 8, 5: 4 }[wire] ?? (varint(), 0);
    yield { number: tag >>> 3, body: bytes.subarray(at, at + size), whole: bytes.subarray(start, at += size) };
  }
}

function message(number, body) {
  const head = [(number << 3) | 2];
  let size = body.length;
  for (; size > 127; size = Math.floor(size / 128)) head.push((size & 127) | 128);
  return join([[...head, size], body]);
}

function join(parts) {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((at, part) => (out.set(part, at), at + part.length), 0);
  return out;
}

const [file, runtime = "onnxruntime-node"] = process.argv.slice(2);
if (!file) {
  console.error("usage: node decide.mjs MODEL.onnx [RUNTIME] < rows.json");
  process.exit(2);
}
const ort = await import(runtime);

const { factors, ...columns } = JSON.parse(readFileSync(0, "utf8"));
const n = factors.length;
const within = (x, low, high) => Number.isFinite(x) && x >= low && x <= high;
factors.forEach((row, i) => {
  if (row.length !== FACTORS || !row.every((x) => within(x, 0, 1))) {
    throw new RangeError(`factors[${i}] must be ${FACTORS} numbers in [0, 1]`);
  }
});
for (const name of Object.keys(columns)) {
  if (!(name in COLUMNS)) throw new RangeError(`${name} is no column; there are ${Object.keys(COLUMNS).join(", ")}`);
}
const feeds = { factors: new ort.Tensor("float32", Float32Array.from(factors.flat()), [n, FACTORS]) };
for (const [name, [neutral, low, high]] of Object.entries(COLUMNS)) {
  const column = columns[name] ?? Array(n).fill(neutral);
  if (column.length !== n || !column.every((x) => within(x, low, high))) {
    throw new RangeError(`${name} must be ${n} numbers in [${low}, ${high}], one a memory`);
  }
  feeds[name] = new ort.Tensor("float32", Float32Array.from(column), [n]);
}
const session = await ort.InferenceSession.create(withoutDefaults(new Uint8Array(readFileSync(file))));
const found = await session.run(feeds);
for (let i = 0; i < n; i++) {
  const one = Object.fromEntries(session.outputNames.map((name) => [name, Number(found[name].data[i])]));
  console.log(JSON.stringify({ ...one, depth: DEPTHS[one.depth] }));
}
