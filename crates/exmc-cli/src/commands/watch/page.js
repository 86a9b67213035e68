// States of a run, as the server sends them -> the table and the traces.
"use strict";
const at = (id) => document.getElementById(id);
const ends = ["completed", "stopped", "interrupted", "failed"];

function digits(x, n) {
  return x === null || typeof x === "string" ? (x ?? "–") : Number(x.toPrecision(n)).toString();
}

function time(s) {
  if (s === null || typeof s === "string") return "–";
  const whole = Math.ceil(s);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

const columns = ["Chain", "Phase", "Draws", "Divergences", "Step size", "Leapfrogs a draw", "ESS of lp", "Worst ESS", "Time left"];

function row(chain) {
  const made = chain.warmup + chain.draws;
  const total = chain.warmup_total + chain.draws_total;
  const worst = chain.ess_worst === null ? "–" : `${digits(Math.round(chain.ess_worst), 6)} (${chain.ess_worst_of})`;
  const lp = chain.ess_lp === null ? "–" : String(Math.round(chain.ess_lp));
  const cells = [chain.chain, chain.phase, `${made} of ${total}`, chain.divergences, digits(chain.step_size, 3),
    digits(chain.leapfrogs_per_draw, 3), lp, worst, time(chain.seconds_left)];
  const line = document.createElement("tr");
  cells.forEach((text, k) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    cell.dataset.name = columns[k];
    if (k === 2) {
      const bar = document.createElement("progress");
      bar.max = Math.max(total, 1);
      bar.value = made;
      bar.setAttribute("aria-label", `draws of chain ${chain.chain}`);
      cell.append(bar);
    }
    line.append(cell);
  });
  return line;
}

const drawing = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);

// A line as a chain has it, with the chain's number.
function sample(chain) {
  const svg = drawing("svg");
  const line = drawing("polyline");
  line.setAttribute("points", "0,5 32,5");
  line.setAttribute("class", `c${chain.chain % 4}`);
  svg.setAttribute("viewBox", "0 0 32 10");
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  const entry = document.createElement("li");
  entry.append(svg, `chain ${chain.chain}`);
  return entry;
}

function traces(chains) {
  const all = chains.flatMap((chain) => chain.lp.filter((lp) => typeof lp === "number"));
  const svg = at("trace");
  svg.replaceChildren();
  if (all.length < 2) return;
  const sorted = [...all].sort((a, b) => a - b);
  // Outliers of the first draws would flatten the rest.
  const low = sorted[Math.floor(0.005 * (sorted.length - 1))];
  const high = sorted[sorted.length - 1];
  const span = high > low ? high - low : 1;
  at("legend").replaceChildren(...chains.filter((chain) => chain.lp.length > 1).map(sample));
  const longest = Math.max(...chains.map((chain) => chain.lp.length), 2);
  for (const chain of chains) {
    const points = chain.lp.map((lp, k) => {
      const y = typeof lp === "number" ? Math.min(1, Math.max(0, (lp - low) / span)) : 0;
      return `${((800 * k) / (longest - 1)).toFixed(1)},${(230 - 220 * y).toFixed(1)}`;
    });
    const line = drawing("polyline");
    line.setAttribute("points", points.join(" "));
    line.setAttribute("class", `c${chain.chain % 4}`);
    svg.append(line);
  }
  at("range").textContent = `From ${digits(low, 5)} at the bottom to ${digits(high, 5)} at the top; draws so far from left to right.`;
}

function show(state) {
  at("directory").textContent = state.directory;
  document.title = `${state.status}: ${state.directory}`;
  let status = `The run is ${state.status}.`;
  if (state.ess_worst !== null) status += ` All chains together: ESS of lp ${Math.round(state.ess_lp)}, worst ${Math.round(state.ess_worst)} (${state.ess_worst_of}).`;
  if (state.error) status += ` ${state.error}.`;
  at("status").textContent = status;
  at("chains").replaceChildren(...state.chains.map(row));
  traces(state.chains);
}

const source = new EventSource("events");
source.onmessage = (event) => {
  const state = JSON.parse(event.data);
  show(state);
  if (ends.includes(state.status)) source.close();
};
source.onerror = () => {
  at("status").textContent = "The program that shows the run does not answer; the page tries again.";
};
