// The page of a gateway. It asks the gateway itself and nothing else, and puts texts in as texts.
"use strict";

const element = (id) => document.getElementById(id);

function make(name, content = "", values = {}) {
  const made = document.createElement(name);
  made.append(...[content].flat());
  for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
  return made;
}

// The text of a live region is set only if it is another one: it would be read aloud again.
function write(place, text) {
  if (element(place).textContent !== text) element(place).textContent = text;
}

const silence = new Error("The gateway does not answer. Check that the tunnel is up.");

// Asks the gateway; throws what it says is wrong, or `silence`. The gateway answers within 8 seconds.
async function ask(path, values = {}, method = "GET", patience = 10000) {
  const given = Object.entries(values).filter(([, value]) => value !== "");
  const query = new URLSearchParams(given).toString();
  let response, answer;
  try {
    response = await fetch(path + (query ? "?" + query : ""), {
      method, headers: { "X-Roamward-Page": "1" }, credentials: "omit", signal: AbortSignal.timeout(patience),
    });
    answer = await response.json();
  } catch {
    showState("bad", "Not connected");
    throw silence;
  }
  if (!response.ok) throw new Error(answer.help ? answer.error + ": " + answer.help : answer.error);
  return answer;
}

// Runs what a person has asked for, and shows what went wrong.
async function attempt(work, place = "message") {
  write(place, "");
  try {
    await work();
  } catch (error) {
    write(place, error.message);
  }
}

// --- values ---------------------------------------------------------------------------------------------------------

// The gateway's time: a person's clock may be wrong.
let now = Date.now();

// A number and its unit stay in one line.
const unit = (...words) => words.join("\u00a0");

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let index = 0;
  while (count >= 1000 && index < units.length - 1) [count, index] = [count / 1000, index + 1];
  return unit(index === 0 ? count : count.toFixed(1), units[index]);
}

// As commands write it, without the milliseconds: the gateway counts seconds.
const time = (text) => (text === null ? "" : make("time", text.replace(".000Z", "Z"), { datetime: text }));

function age(text) {
  if (text === null) return "";
  const seconds = Math.max(0, Math.round((now - new Date(text)) / 1000));
  if (seconds < 120) return unit(seconds, "s", "ago");
  return seconds < 7200 ? unit(Math.round(seconds / 60), "min", "ago") : time(text);
}

// The state is one of a few words, which are classes too.
const word = (text) => make("span", text, { class: text.replace(" ", "-") });

function way(one) {
  if (one.transport === null) return "";
  return one.transport === "tcp" ? "TCP, by the relay" : `UDP, ${one.endpoint}`;
}

// A QR code from its rows of 0 and 1, with the quiet zone of four modules around it.
function drawing(rows, name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  const size = rows.length + 8;
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", name);
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

// --- tables ---------------------------------------------------------------------------------------------------------

// A table of rows. A column has a title, a function that makes a cell's content, and perhaps a key to sort by. On a narrow screen a row
// is a card (page.css), so that roles are said explicitly: without its display a table is none for a screen reader.
class List {
  constructor(id, columns) {
    this.table = element(id);
    this.columns = columns;
    this.items = [];
    this.order = null;
    const head = make("tr", columns.map((column, index) => {
      const cell = make("th", column.title, { scope: "col", role: "columnheader", class: column.kind ?? "" });
      if (column.isTitleHidden) cell.replaceChildren(make("span", column.title, { class: "hidden" }));
      if (column.key) {
        const button = make("button", column.title, { type: "button" });
        button.addEventListener("click", () => this.sort(index));
        cell.replaceChildren(button);
      }
      return cell;
    }), { role: "row" });
    this.table.setAttribute("role", "table");
    this.table.classList.toggle("sortable", columns.some((column) => column.key));
    // Cards where there is no room for the columns.
    const space = matchMedia(`(max-width: ${this.table.matches(".wide") ? 74 : 48}rem)`);
    const arrange = () => this.table.classList.toggle("cards", space.matches);
    space.addEventListener("change", arrange);
    arrange();
    this.table.append(make("thead", head, { role: "rowgroup" }), make("tbody", [], { role: "rowgroup" }));
  }

  // The same column again: the other direction.
  sort(index) {
    this.order = { index, isDescending: this.order?.index === index && !this.order.isDescending };
    [...this.table.tHead.rows[0].cells].forEach((cell, other) => {
      if (other === index) cell.setAttribute("aria-sort", this.order.isDescending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    this.show(this.items);
  }

  sorted(items) {
    if (this.order === null) return items;
    const { key } = this.columns[this.order.index];
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    // Without a value: at the end in both directions.
    const [known, unknown] = [items.filter((one) => key(one) !== null), items.filter((one) => key(one) === null)];
    known.sort((a, b) => compare(key(a), key(b)) * (this.order.isDescending ? -1 : 1));
    return [...known, ...unknown];
  }

  // Cells that stay the same stay in the document: the focus is not lost, and nothing is read aloud again.
  show(items) {
    this.items = items;
    this.table.hidden = items.length === 0;
    const body = this.table.tBodies[0];
    const present = new Map([...body.rows].map((row) => [row.dataset.key, row]));
    const rows = this.sorted(items).map((one) => this.merged(this.row(one), present));
    for (const row of [...body.rows]) if (!rows.includes(row)) row.remove();
    rows.forEach((row, index) => {
      if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
    });
  }

  row(one) {
    const cells = this.columns.map((column, index) => {
      const name = index === 0 ? "th" : "td";
      const cell = make(name, column.show(one), { role: index === 0 ? "rowheader" : "cell", class: column.kind ?? "" });
      if (index === 0) cell.scope = "row";
      else cell.dataset.label = column.isTitleHidden ? "" : column.title;
      return cell;
    });
    const row = make("tr", cells, { role: "row" });
    row.dataset.key = cells[0].textContent;
    return row;
  }

  merged(row, present) {
    const old = present.get(row.dataset.key);
    if (!old) return row;
    [...row.cells].forEach((cell, index) => {
      if (!old.cells[index].isEqualNode(cell)) old.cells[index].replaceWith(cell);
    });
    return old;
  }
}

// --- dialogs --------------------------------------------------------------------------------------------------------

for (const dialog of document.querySelectorAll("dialog")) {
  for (const button of dialog.querySelectorAll("[data-close]")) button.addEventListener("click", () => dialog.close());
}

let answer = null;

function settle(isYes) {
  answer?.(isYes);
  answer = null;
}

// Asks before something is lost. The answer that changes nothing has the focus.
function confirmed(title, text, yes, hasReason = false) {
  write("confirm-title", title);
  write("confirm-text", text);
  write("confirm-yes", yes);
  element("confirm-why").hidden = !hasReason;
  element("confirm-reason").value = "";
  element("confirm").showModal();
  return new Promise((done) => { answer = done; });
}

element("confirm-yes").addEventListener("click", () => {
  settle(true);
  element("confirm").close();
});

// The event comes later: the next question may be open already.
element("confirm").addEventListener("close", () => element("confirm").open || settle(false));

// A button that asks first, and then changes something.
function action(title, name, kind, question, work) {
  const button = make("button", title, { type: "button", "aria-label": name, class: kind });
  button.addEventListener("click", () => attempt(async () => {
    if (!(await confirmed(...question))) return;
    await work();
    element("main").focus();
  }));
  return button;
}

// --- my devices -----------------------------------------------------------------------------------------------------

let me = null;

function removal(one) {
  const isThis = one.device === me.device;
  const text = isThis
    ? "You are using this device now. It loses its connection at once, and this page does not open on it any more. "
      + "To connect again, add it from another device, or ask an administrator."
    : "Its key is refused at once. To connect again, it has to be added again.";
  const title = isThis ? `Remove this device, ${one.device}?` : `Remove ${one.device}?`;
  return action("Remove", `Remove ${one.device}`, "danger", [title, text, isThis ? "Remove this device" : "Remove"], async () => {
    if (isThis) return await removeThis(one);
    await ask("/api/devices", { name: one.device }, "DELETE");
    await showMine();
  });
}

// The tunnel ends, mostly before the answer has come.
async function removeThis(one) {
  try {
    await ask("/api/devices", { name: one.device }, "DELETE", 4000);
  } catch (error) {
    if (error !== silence) throw error;
  }
  showState("bad", "Not connected");
  for (const id of ["tabs", "facts", "view-mine"]) element(id).hidden = true;
  throw new Error(`${one.device} is removed, and its tunnel has ended.`);
}

const received = { title: "From device", kind: "number", show: (one) => bytes(one.received), key: (one) => one.received };
const sent = { title: "To device", kind: "number", show: (one) => bytes(one.sent), key: (one) => one.sent };

const mine = new List("mine-list", [
  { title: "Device", show: (one) => one.device + (one.device === me.device ? " (this one)" : "") },
  { title: "State", show: (one) => word(one.state) },
  { title: "Addresses", kind: "long", show: (one) => one.addresses.join(", ") },
  { title: "Last handshake", show: (one) => age(one.handshake) },
  { ...received, key: null }, { ...sent, key: null },
  { title: "Action", isTitleHidden: true, show: removal },
]);

function showState(kind, text) {
  element("state").className = kind;
  write("state", text);
}

function showPerson() {
  now = new Date(me.time).getTime();
  const title = me.title ?? `Gateway ${me.gateway}`;
  write("title", title);
  const view = element("tabs").querySelector("[aria-current]").textContent;
  document.title = me.operator ? `${view}: ${title}` : title;
  element("tabs").hidden = !me.operator;
  element("inviting").hidden = !me.administrator || !me.logins;
  const one = me.devices.find((device) => device.device === me.device);
  // An answer proves it: it came through the tunnel.
  showState("good", one.transport === "tcp" ? "Protected, by the relay (TCP)" : "Protected, by UDP");
  const isAll = (prefix) => me.routes.includes(prefix);
  const facts = [
    ["You", me.user + (me.administrator ? ", administrator" : me.operator ? ", operator" : "")],
    ["This device", `${me.device} (${one.addresses.join(", ")})`],
    ["Connected from", one.transport === "tcp" ? "the relay" : one.endpoint ?? ""], ["Connected since", time(one.since)],
    ["Last handshake", age(one.handshake)], ["Traffic", `${bytes(one.received)} sent, ${bytes(one.sent)} received`],
    ["In the tunnel", isAll("0.0.0.0/0") || isAll("::/0") ? "all traffic" : me.routes.join(", ")],
  ].filter(([, text]) => text !== "");
  element("facts").replaceChildren(...facts.map(([name, text]) => make("div", [make("dt", name), make("dd", text)])));
  element("facts").hidden = false;
}

async function showMine() {
  me = await ask("/api/me");
  showPerson();
  mine.show(me.devices);
  const isFull = me.devices.length >= me.limit;
  write("mine-summary", unit(me.devices.length, "of", me.limit, "devices") + (isFull ? ". To add another one, remove one first." : ""));
  element("adding").hidden = isFull;
  element("linking").hidden = isFull || !me.logins;
}

// The first name of its kind that this person has not used.
function proposal(kind) {
  const names = me.devices.map((one) => one.device);
  let name = kind;
  for (let number = 2; names.includes(name); number += 1) name = `${kind}-${number}`;
  return name;
}

let kind = "phone";

for (const button of document.querySelectorAll("[data-add]")) {
  button.addEventListener("click", () => {
    kind = button.dataset.add;
    forget();
    element("add-form").name.value = proposal(kind);
    write("add-title", kind === "phone" ? "Add a phone" : "Add a computer");
    write("add-go", kind === "phone" ? "Show QR code" : "Make the file");
    element("add").showModal();
  });
}

function forget() {
  element("add-form").reset();
  element("add-form").hidden = false;
  element("add-form").querySelector("details").open = false;
  element("added").querySelector("details").open = false;
  element("added").hidden = true;
  element("code").replaceChildren();
  write("file", "");
  write("add-message", "");
  URL.revokeObjectURL(element("save").href);
  element("save").href = "#main";
}

function showAdded(added) {
  const isScanned = kind === "phone" && added.code !== null;
  // wg-quick(8) takes the name of the file for the link, whose name has 15 characters at most.
  const file = added.device.replace(/[^a-z0-9_.-]/g, "-").slice(0, 15) + ".conf";
  write("added-title", isScanned ? `QR code for ${added.device}` : `File for ${added.device}`);
  write("added-how", isScanned
    ? "In the WireGuard app: add a tunnel, and choose “Scan from QR code”. On this phone itself, save the file, and import it."
    : added.secret ? "Save the file, and import it in the WireGuard app, or start it with wg-quick."
      : "Save the file, and put the private key of the device in it. Then import it in the WireGuard app, or start it with wg-quick.");
  element("added-once").hidden = !added.secret;
  element("code").replaceChildren(...(isScanned ? [drawing(added.code, "QR code of the configuration")] : []));
  write("file", added.file);
  element("save").href = URL.createObjectURL(new Blob([added.file], { type: "application/octet-stream" }));
  element("save").download = file;
  write("save", `Save ${file}`);
  element("add-form").hidden = true;
  element("added").hidden = false;
  element("added-title").focus();
}

element("add-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  element("add-go").disabled = true;
  attempt(async () => {
    showAdded(await ask("/api/devices", { name: form.name.value.trim(), key: form.key.value.trim() }, "POST"));
    await showMine();
  }, "add-message").finally(() => {
    element("add-go").disabled = false;
    if (!form.hidden && element("add").open) element("add-go").focus();
  });
});

element("add").addEventListener("close", () => element("add").open || forget());

// --- links ----------------------------------------------------------------------------------------------------------

// A link for `roamward login`: a person's own, or an invitation, which is a secret.
function showLink(given, title, how, note) {
  write("link-title", title);
  write("link-how", how);
  write("link-note", note);
  write("link-text", given.link);
  write("link-command", `roamward login '${given.link}'`);
  element("link-code").replaceChildren(...(given.code === null ? [] : [drawing(given.code, "QR code of the link")]));
  element("link").showModal();
  element("link-title").focus();
}

element("link").addEventListener("close", () => {
  if (element("link").open) return;
  for (const id of ["link-text", "link-command", "link-copied"]) write(id, "");
  element("link-code").replaceChildren();
});

// Without TLS a browser has no clipboard for scripts: the selected text is copied.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(element(button.dataset.copy));
    write("link-copied", document.execCommand("copy") ? "Copied." : "It is selected: copy it.");
  });
}

element("link-own").addEventListener("click", () => attempt(async () => {
  showLink(await ask("/api/link"), "Log in on another laptop", "It has Roamward installed. Open the link there, or run the command.",
    "The link has the gateway's pin, and no secret: you log in there as usual.");
}));

const invitation = element("invite-form");

function invite(user) {
  invitation.reset();
  invitation.user.value = user;
  invitation.user.readOnly = user !== "";
  write("invite-message", "");
  element("invite").showModal();
  (user === "" ? invitation.user : element("invite-go")).focus();
}

element("invite-new").addEventListener("click", () => invite(""));

invitation.addEventListener("submit", (event) => {
  event.preventDefault();
  element("invite-go").disabled = true;
  attempt(async () => {
    const given = await ask("/api/admin/invitations", { user: invitation.user.value.trim() }, "POST");
    element("invite").close();
    showLink(given, `Invitation of ${given.user}`,
      (given.new ? `${given.user} is a user now. ` : "") + `Give this link to ${given.user} alone, by a safe way.`,
      `It logs in once, until ${given.until.slice(11, 16)} UTC, and is shown only now. It is token ${given.token}.`);
    await showUsers();
  }, "invite-message").finally(() => { element("invite-go").disabled = false; });
});

// --- operators and administrators -----------------------------------------------------------------------------------

// Ends the session of a device that has logged in.
function end(one) {
  if (!me.operator || one.login === null || one.login.ended !== null) return "";
  const device = `${one.user}/${one.device}`;
  const isThis = one.user === me.user && one.device === me.device;
  const text = (isThis ? "You are using this device now: this page closes. " : "") + "It loses its connection, and has to log in again.";
  return action("End session", `End session of ${device}`, "danger", [`End the session of ${device}?`, text, "End session"], async () => {
    await ask("/api/admin/sessions", { device }, "DELETE");
    await showDevices();
  });
}

const devices = new List("device-list", [
  { title: "Device", show: (one) => [one.user + "/", make("wbr"), one.device], key: (one) => `${one.user}/${one.device}` },
  { title: "State", show: (one) => word(one.state), key: (one) => one.state },
  { title: "Since", show: (one) => time(one.since), key: (one) => one.since },
  { title: "Addresses", kind: "long", show: (one) => one.addresses.join(", ") },
  { title: "From", kind: "long", show: way },
  { title: "Last handshake", show: (one) => age(one.handshake), key: (one) => one.handshake },
  received, sent,
  { title: "Login", kind: "long", show: (one) => (one.login === null ? ""
    : make("span", [time(one.login.time), `, ${one.login.factors}, from ${one.login.source}`])) },
  { title: "Action", isTitleHidden: true, show: end },
]);

let search = 0;

async function showDevices() {
  search += 1;
  const [form, number] = [element("search"), search];
  const text = form.search.value.trim();
  const found = await ask("/api/admin/devices", { search: text, connected: form.connected.checked ? "1" : "" });
  // An answer to an earlier question came later.
  if (number !== search) return;
  now = new Date(found.time).getTime();
  const count = found.devices.length + found.more;
  const shown = form.connected.checked ? unit(found.connected, "connected") : unit(found.connected, "of", count, "connected");
  write("devices-summary", (text === "" ? shown : `“${text}”: ${shown}`)
    + (found.more > 0 ? `. The first ${found.devices.length} by name are shown; search for the others.` : ""));
  devices.show(found.devices);
}

const declared = { title: "Declared in", kind: "long", show: (one) => one.declared ?? "no file" };

const groups = new List("group-list", [
  { title: "Group", show: (one) => one.group, key: (one) => one.group },
  { title: "Precedence", show: (one) => String(one.precedence), key: (one) => one.precedence },
  { title: "Users", kind: "long", show: (one) => one.users.join(", ") },
  declared,
]);

// For administrators. Nobody locks the own account.
function locking(one) {
  const path = "/api/admin/locks";
  if (one.state === "locked") {
    const question = [`Unlock ${one.user}?`, "All devices may connect and log in again.", "Unlock"];
    return action("Unlock", `Unlock ${one.user}`, "", question, async () => {
      await ask(path, { user: one.user }, "DELETE");
      await showUsers();
    });
  }
  const question = [`Lock ${one.user}?`, "All devices lose their connection at once, and cannot log in.", "Lock", true];
  return action("Lock", `Lock ${one.user}`, "danger", question, async () => {
    await ask(path, { user: one.user, reason: element("confirm-reason").value.trim() }, "POST");
    await showUsers();
  });
}

function userActions(one) {
  if (!me.administrator) return "";
  const button = make("button", "Invite", { type: "button", "aria-label": `Invite ${one.user}` });
  button.addEventListener("click", () => invite(one.user));
  return [...(me.logins && one.state === "active" ? [button] : []), ...(one.user === me.user ? [] : [locking(one)])];
}

const users = new List("user-list", [
  { title: "User", show: (one) => one.user, key: (one) => one.user },
  { title: "State", show: (one) => word(one.state), key: (one) => one.state },
  { title: "Until", show: (one) => time(one.until), key: (one) => one.until },
  { title: "Devices", show: (one) => String(one.devices), key: (one) => one.devices },
  declared,
  { title: "Action", isTitleHidden: true, show: userActions },
]);

async function showUsers() {
  const text = element("find").search.value.trim();
  const found = await ask("/api/admin/groups", { search: text });
  // An answer to an earlier question came later.
  if (text !== element("find").search.value.trim()) return;
  groups.show(found.groups);
  users.show(found.users);
  const number = (all, word) => unit(all.length, all.length === 1 ? word : word + "s");
  const count = `${number(found.users, "user")}, ${number(found.groups, "group")}`;
  write("users-summary", (text === "" ? count : `“${text}”: ${count}`) + (found.more > 0 ? `; ${found.more} more: search for them.` : ""));
}

const rules = new List("rule-list", [
  { title: "Place", show: (one) => String(one.place) },
  { title: "Rule", kind: "long", show: (one) => one.text },
  declared,
  { title: "Result", show: (one) => (one.mismatch === undefined ? one.result ?? ""
    : one.mismatch === null ? make("strong", "decides") : `no match: ${one.mismatch}`) },
]);

let allRules = [];

async function showRules() {
  const found = await ask("/api/admin/rules");
  allRules = found.rules;
  rules.show(allRules);
  write("decision", "");
  write("rules-summary", found.rules.length === 0 ? "There are no rules: nothing is allowed."
    : found.more > 0 ? `${found.more} more are not shown.` : "");
}

async function showAccess(form) {
  const values = { user: form.user.value.trim(), to: form.to.value.trim(), protocol: form.protocol.value };
  const answer = await ask("/api/admin/access", values);
  write("decision", answer.decision);
  element("decision").className = answer.allowed ? "allowed" : "denied";
  rules.show([...answer.rules, ...allRules.slice(answer.rules.length).map((one) => ({ ...one, result: "not evaluated" }))]);
}

const audit = new List("audit-list", [
  { title: "Number", show: (one) => String(one.sequence) },
  { title: "Time", show: (one) => time(one.time) },
  { title: "Actor", kind: "long", show: (one) => one.actor },
  { title: "Request", show: (one) => one.request },
  { title: "Object", kind: "long", show: (one) => one.object },
  { title: "Detail", kind: "long", show: (one) => one.detail },
]);

const showAudit = async () => audit.show((await ask("/api/admin/audit")).entries.reverse());

// A search begins while a person types, a moment after the last key.
let pause;

for (const [form, show] of [["search", showDevices], ["find", showUsers]]) {
  element(form).addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => attempt(show), 250);
  });
  element(form).addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(pause);
    attempt(show);
  });
}

element("question").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(() => showAccess(event.target));
});

// --- views ----------------------------------------------------------------------------------------------------------

const views = { mine: showMine, devices: showDevices, users: showUsers, access: showRules, audit: showAudit };
let view = "mine";

// The address says which view it is: a browser's back button and bookmarks work.
async function enter() {
  const wanted = location.hash.slice(1) || "mine";
  if (!(wanted in views) || (wanted !== "mine" && !me.operator)) return;
  view = wanted;
  for (const link of element("tabs").children) {
    if (link.hash === "#" + view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const name of Object.keys(views)) element("view-" + name).hidden = name !== view;
  showPerson();
  await attempt(views[view]);
}

window.addEventListener("hashchange", () => me && enter());

// The times, states and counts of an open page stay true. The state at the top says that the gateway does not answer.
async function refresh() {
  if (document.hidden || document.querySelector("dialog[open]")) return;
  try {
    if (me === null) return await begin();
    await showMine();
    if (view === "devices") await showDevices();
  } catch {}
}

async function begin() {
  await showMine();
  await enter();
}

attempt(begin);
setInterval(refresh, 15000);
