// The page of a gateway. It asks the gateway itself and nothing else, and puts texts in as texts.
"use strict";

const element = (id) => document.getElementById(id);

// Asks the gateway; throws what it says is wrong.
async function ask(path, values = {}, method = "GET") {
  const given = Object.entries(values).filter(([, value]) => value !== "");
  const query = new URLSearchParams(given).toString();
  let response, answer;
  try {
    response = await fetch(path + (query ? "?" + query : ""), { method, headers: { "X-Roamward-Page": "1" }, credentials: "omit" });
    answer = await response.json();
  } catch {
    throw new Error("The gateway does not answer. Is the tunnel up?");
  }
  if (!response.ok) throw new Error(answer.help ? answer.error + ": " + answer.help : answer.error);
  return answer;
}

function say(text) {
  element("message").textContent = text;
  element("message").hidden = text === "";
}

// Runs what a person has asked for, and shows what went wrong.
async function attempt(work) {
  say("");
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

// --- values ---------------------------------------------------------------------------------------------------------

function cell(content, kind = "") {
  const made = document.createElement("td");
  made.append(content === null ? "" : content);
  made.className = kind;
  return made;
}

function fill(table, rows) {
  table.tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }));
}

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) [count, unit] = [count / 1000, unit + 1];
  return (unit === 0 ? count : count.toFixed(1)) + " " + units[unit];
}

const time = (text) => (text === null ? "" : new Date(text).toLocaleString());

function age(text) {
  if (text === null) return "";
  const seconds = Math.max(0, Math.round((Date.now() - new Date(text)) / 1000));
  if (seconds < 120) return seconds + " s ago";
  return seconds < 7200 ? Math.round(seconds / 60) + " min ago" : time(text);
}

// The state is one of a few words, which are classes too.
const state = (word) => cell(word, word.replace(" ", "-"));

// A QR code from its rows of 0 and 1, with the quiet zone of four modules around it.
function drawing(rows) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  const size = rows.length + 8;
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "QR code of the configuration");
  svg.setAttribute("shape-rendering", "crispEdges");
  let shape = "";
  rows.forEach((row, y) => [...row].forEach((dark, x) => {
    if (dark === "1") shape += `M${x + 4} ${y + 4}h1v1h-1z`;
  }));
  path.setAttribute("d", shape);
  path.setAttribute("fill", "#000");
  svg.append(path);
  return svg;
}

// --- my devices -----------------------------------------------------------------------------------------------------

function removal(device, isThis) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Remove";
  button.addEventListener("click", () => attempt(async () => {
    const loss = isThis ? "\nThis page is open on it: it loses its connection." : "";
    if (!confirm(`Remove ${device}? Its key is refused at once.${loss}`)) return;
    await ask("/api/devices", { name: device }, "DELETE");
    await showMine();
  }));
  return button;
}

let isOperator = false;

async function showMine() {
  const me = await ask("/api/me");
  isOperator = me.operator;
  element("who").textContent = `${me.user}, on ${me.device}${me.operator ? ", operator" : me.administrator ? ", administrator" : ""}`;
  element("tabs").hidden = !me.administrator;
  fill(element("mine").querySelector("table"), me.devices.map((one) => [
    cell(one.device + (one.device === me.device ? " (this one)" : "")), state(one.state), cell(one.addresses.join(", ")),
    cell(age(one.handshake)), cell(bytes(one.received), "number"), cell(bytes(one.sent), "number"),
    cell(removal(one.device, one.device === me.device)),
  ]));
  element("add").hidden = me.devices.length >= me.limit;
}

function hide() {
  element("added").hidden = true;
  element("code").replaceChildren();
  element("file").textContent = "";
  URL.revokeObjectURL(element("save").href);
}

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const form = event.target;
    hide();
    const added = await ask("/api/devices", { name: form.name.value.trim(), key: form.key.value.trim() }, "POST");
    form.reset();
    element("added-name").textContent = added.device;
    element("added-once").hidden = !added.secret;
    element("code").replaceChildren(...(added.code === null ? [] : [drawing(added.code)]));
    element("file").textContent = added.file;
    element("save").href = URL.createObjectURL(new Blob([added.file], { type: "application/octet-stream" }));
    // wg-quick(8) takes the name of the file for the link, whose name has 15 characters at most.
    element("save").download = added.device.replace(/[^a-z0-9_.-]/g, "-").slice(0, 15) + ".conf";
    element("added").hidden = false;
    await showMine();
  });
});

element("hide").addEventListener("click", hide);

// --- administrators -------------------------------------------------------------------------------------------------

// For operators: ends the session of a device that has logged in.
function end(one) {
  if (!isOperator || one.login === null || one.login.ended !== null) return "";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "End session";
  button.addEventListener("click", () => attempt(async () => {
    const device = `${one.user}/${one.device}`;
    if (!confirm(`End the session of ${device}? It has to log in again.`)) return;
    await ask("/api/admin/sessions", { device }, "DELETE");
    await showDevices();
  }));
  return button;
}

async function showDevices() {
  const found = await ask("/api/admin/devices", { search: element("search").search.value.trim() });
  const more = found.more > 0 ? `; ${found.more} more are not shown, search for them` : "";
  element("devices-summary").textContent = `${found.connected} of ${found.devices.length + found.more} connected${more}`;
  fill(element("devices").querySelector("table"), found.devices.map((one) => [
    cell(`${one.user}/${one.device}`), state(one.state), cell(one.addresses.join(", ")), cell(one.endpoint), cell(age(one.handshake)),
    cell(bytes(one.received), "number"), cell(bytes(one.sent), "number"),
    cell(one.login === null ? "" : `${time(one.login.time)}, ${one.login.factors}, from ${one.login.source}`), cell(end(one)),
  ]));
}

async function showGroups() {
  const found = await ask("/api/admin/groups");
  fill(element("group-list"), found.groups.map((one) => [cell(one.group), cell(String(one.precedence)), cell(one.users.join(", "))]));
  fill(element("user-list"), found.users.map((one) => [cell(one.user), state(one.state), cell(time(one.until)), cell(String(one.devices))]));
  if (found.more > 0) say(`${found.more} more groups and users are not shown.`);
}

async function showAudit() {
  const found = await ask("/api/admin/audit");
  fill(element("audit").querySelector("table"), found.entries.reverse().map((one) => [
    cell(String(one.sequence)), cell(time(one.time)), cell(one.actor), cell(one.request), cell(one.object), cell(one.detail),
  ]));
}

element("search").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(showDevices);
});

element("question").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const form = event.target;
    const values = { user: form.user.value.trim(), to: form.to.value.trim(), protocol: form.protocol.value };
    const answer = await ask("/api/admin/access", values);
    element("decision").textContent = answer.decision;
    element("decision").className = answer.allowed ? "allowed" : "denied";
    element("passed").replaceChildren(...answer.passed.map((text) => {
      const item = document.createElement("li");
      item.textContent = "no match: " + text;
      return item;
    }));
  });
});

const views = { mine: showMine, devices: showDevices, groups: showGroups, access: async () => {}, audit: showAudit };

element("tabs").addEventListener("click", (event) => {
  const name = event.target.dataset.tab;
  if (!name) return;
  for (const button of element("tabs").children) button.toggleAttribute("aria-current", button === event.target);
  for (const view of Object.keys(views)) element(view).hidden = view !== name;
  attempt(views[name]);
});

attempt(showMine);
