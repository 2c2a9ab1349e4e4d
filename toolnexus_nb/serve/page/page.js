// The page: one conversation with the served model. Everything a model or a tool said goes in as textContent.

import { renderMarkdown } from "./markdown.js";
import { readToolEvents } from "./tool-events.js";

const $ = (id) => document.getElementById(id);
const talk = $("talk"), form = $("ask"), prompt = $("prompt"), status = $("status");

const messages = []; // the conversation as the next request sends it
let key = takeKeyFromAddress();
let running = null; // AbortController of the reply being made

// A link may carry the key behind "#key="; the browser keeps that part to itself, and it leaves the address bar at once.
function takeKeyFromAddress() {
  const found = new URLSearchParams(location.hash.slice(1)).get("key");
  if (found) history.replaceState(null, "", location.pathname + location.search);
  return found ?? "";
}

// Addresses are relative: behind a proxy the page may live under /user/x/proxy/8000/.
function ask(path, options = {}) {
  const headers = { ...(key ? { authorization: `Bearer ${key}` } : {}), ...options.headers };
  return fetch(path, { ...options, headers });
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name === "open") made.open = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// --- what the server offers ------------------------------------------------------------------------------------------

async function introduce() {
  let answer;
  try {
    answer = await ask("v1/models");
  } catch {
    status.textContent = "the server does not answer";
    return;
  }
  $("key-form").hidden = answer.status !== 401;
  if (answer.status === 401) return $("key").focus();
  if (!answer.ok) return void (status.textContent = await reasonOf(answer));
  const { data } = await answer.json();
  const { id, served_by: servedBy, tools = [] } = data[0];
  $("model").textContent = id;
  document.title = `${id} · toolnexus_nb`;
  const count = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  $("about").textContent = [servedBy.replace(id, "").trim(), count].filter(Boolean).join(" · ");
  $("tools").replaceChildren(
    ...tools.map((tool) =>
      element("li", {}, element("code", { text: tool.name }), element("span", { text: tool.description || "no description" })),
    ),
  );
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = $("key").value.trim();
  $("key").value = "";
  introduce().then(() => prompt.focus());
});

async function reasonOf(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return text.slice(0, 500) || `the server answered ${answer.status}`;
  }
}

// --- one question and its reply --------------------------------------------------------------------------------------

class Reply {
  constructor(question) {
    this.began = performance.now();
    this.text = "";
    this.calls = new Map(); // by id
    this.all = [];
    this.usage = null;
    this.finish = null;
    this.done = false;
    this.block = null; // where the next words go; null after a call, so that words and calls keep their order
    this.grid = null;
    this.section = element("section", { class: "turn" }, element("h2", { text: question }));
    talk.append(this.section);
  }

  take(item) {
    if (item.kind === "chunk") this.#chunk(item.chunk);
    else if (item.kind === "tool") this.#tool(item.type, item.event);
    else if (item.kind === "error") throw new Error(item.error.message || "the endpoint failed");
    else this.done = true;
  }

  #chunk(chunk) {
    if (chunk.usage) this.usage = chunk.usage;
    for (const { delta = {}, finish_reason: finish } of chunk.choices ?? []) {
      const thought = delta.reasoning_content ?? delta.reasoning;
      if (thought) this.#words("thought").append(thought);
      if (delta.content) {
        this.text += delta.content;
        this.#words("words").append(delta.content);
      }
      if (delta.refusal) this.#words("words refusal").append(delta.refusal);
      if (finish) this.finish = finish;
    }
  }

  #words(kind) {
    if (this.block?.kind !== kind) {
      this.#settle();
      const place = element("div", kind === "thought" ? {} : { class: kind });
      const whole = kind === "thought" ? element("details", { class: "thought" }, element("summary", { text: "Reasoning" }), place) : place;
      this.section.append(whole);
      this.block = { kind, place };
      this.grid = null;
    }
    return this.block.place;
  }

  // Words stream in as plain text; once a block is complete its marks become elements.
  #settle() {
    if (this.block?.kind === "words") {
      this.block.place.replaceChildren(renderMarkdown(this.block.place.textContent));
      this.block.place.classList.add("settled");
    }
    this.block = null;
  }

  #tool(type, event) {
    let call = this.calls.get(event.tool_call_id);
    if (!call || type === "tool_start") {
      call = new Call(event);
      this.calls.set(event.tool_call_id, call); // an id may be used again in a later round: the last one counts
      this.all.push(call);
      if (!this.grid) this.section.append((this.grid = element("div", { class: "calls" })));
      this.#settle();
      this.grid.append(call.card);
    }
    if (type === "tool_progress") call.progress(event);
    else if (type === "tool_end") call.end(event);
    status.textContent = this.summary();
  }

  summary() {
    const { all } = this;
    const busy = all.filter((call) => call.state === "running").map((call) => call.name);
    return busy.length ? `running ${busy.join(", ")}` : all.length ? `${all.length} ${all.length === 1 ? "call" : "calls"} done` : "thinking";
  }

  problem(message, kind = "Not finished") {
    this.#settle();
    this.section.append(element("p", { class: "problem", role: "alert" }, element("b", { text: kind }), ` · ${message}`));
  }

  close(stopped) {
    this.#settle();
    for (const call of this.all) if (call.state === "running") call.stop();
    const seconds = ((performance.now() - this.began) / 1000).toFixed(1);
    const words = [`${seconds} s`];
    if (this.usage) words.push(`${this.usage.prompt_tokens} + ${this.usage.completion_tokens} tokens${this.usage.estimated ? ", estimated" : ""}`);
    if (stopped) words.push("stopped");
    else if (this.finish === "length") words.push("cut off: a limit was reached");
    else if (this.finish === "content_filter") words.push("cut off by the provider's filter");
    this.section.append(element("p", { class: "foot", text: words.join(" · ") }));
  }
}

class Call {
  constructor(event) {
    this.name = event.tool_name;
    this.began = performance.now();
    this.word = element("span", { class: "state" });
    this.bar = null;
    this.card = element("details", { class: "call", open: true }, element("summary", {}, element("code", { text: this.name }), element("span", { class: "grow" }), this.word));
    const given = Object.entries(event.arguments ?? {});
    if (given.length) {
      this.card.append(element("dl", {}, ...given.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: JSON.stringify(value) })])));
    }
    this.#show("running", "running");
  }

  progress({ progress, total, message }) {
    if (!this.bar) {
      this.bar = element("div", { class: "progress" }, element("progress", { "aria-label": `progress of ${this.name}` }), element("span"));
      this.card.append(this.bar);
    }
    const [bar, words] = this.bar.children;
    if (total) Object.assign(bar, { max: total, value: progress });
    words.textContent = message ?? (total ? `${progress} of ${total}` : progress ?? "");
  }

  end(event) {
    const failed = event.status === "error";
    this.bar?.remove();
    const said = event.error ?? event.result;
    if (said) this.card.append(element("pre", { class: "result", tabindex: "0", "aria-label": failed ? "error" : "result", text: said }));
    const seconds = ((performance.now() - this.began) / 1000).toFixed(2);
    this.#show(failed ? "error" : "complete", `${failed ? "failed" : "done"} in ${seconds} s`);
  }

  stop() {
    this.bar?.remove();
    this.#show("stopped", "stopped");
  }

  #show(state, words) {
    this.state = state;
    this.card.className = `call ${state}`;
    this.word.textContent = words;
  }
}

async function send(question) {
  $("welcome").hidden = true;
  $("fresh").hidden = false;
  const reply = new Reply(question);
  running = new AbortController();
  busy(true);
  status.textContent = "thinking";
  follow(true);
  let stopped = false;
  const before = messages.length;
  messages.push({ role: "user", content: question });
  try {
    const answer = await ask("v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: $("model").textContent, messages, stream: true, stream_options: { include_usage: true } }),
      signal: running.signal,
    });
    if (!answer.ok) {
      $("key-form").hidden = answer.status !== 401;
      throw new Error(await reasonOf(answer));
    }
    for await (const item of readToolEvents(answer)) {
      reply.take(item);
      follow();
    }
    if (!reply.done) throw new Error("The connection was lost before the answer was complete.");
    status.textContent = "done";
  } catch (error) {
    stopped = error.name === "AbortError";
    if (!stopped) reply.problem(error.message === "Failed to fetch" ? "The server does not answer." : error.message);
    status.textContent = stopped ? "stopped" : "not finished";
  }
  // What failed can be asked again: the question goes back where it came from, and out of the conversation.
  if (reply.text) messages.push({ role: "assistant", content: reply.text });
  else {
    messages.length = before;
    if (!prompt.value && !reply.done) prompt.value = question;
  }
  reply.close(stopped);
  running = null;
  busy(false);
  follow();
  prompt.focus();
}

function busy(yes) {
  $("send").hidden = yes;
  $("stop").hidden = !yes;
  $("fresh").disabled = yes;
  talk.setAttribute("aria-busy", String(yes));
}

// Stay at the end while the person is there; leave them alone when they have scrolled up.
let atEnd = true;
addEventListener("scroll", () => {
  const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
  atEnd = scrollHeight - scrollTop - clientHeight < 80;
}, { passive: true });
function follow(always = false) {
  if (always || atEnd) scrollTo(0, document.documentElement.scrollHeight);
}

// --- the form and the keyboard ---------------------------------------------------------------------------------------

function grow() {
  prompt.style.height = "auto";
  prompt.style.height = `${prompt.scrollHeight + 2}px`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = prompt.value.trim();
  if (!question || running) return;
  prompt.value = "";
  grow();
  send(question);
});
prompt.addEventListener("input", grow);
prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});
$("stop").addEventListener("click", () => running?.abort());
$("fresh").addEventListener("click", () => {
  messages.length = 0;
  for (const turn of talk.querySelectorAll(".turn")) turn.remove();
  $("welcome").hidden = false;
  $("fresh").hidden = true;
  status.textContent = "";
  prompt.focus();
});

introduce();
