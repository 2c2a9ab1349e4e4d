// Reads the stream of a chat completion with tool events in it: `:tool_start:{json}`, `:tool_progress:{json}` and
// `:tool_end:{json}` are SSE comments, so an ordinary SSE client skips them and this one does not.
//
//   import { readToolEvents } from "./tool-events.js";
//   for await (const item of readToolEvents(await fetch(url, options))) {
//     if (item.kind === "tool") show(item.type, item.event);          // {tool_call_id, tool_name, status, arguments?, result?, error?}
//     else if (item.kind === "chunk") add(item.chunk.choices);        // one chat.completion.chunk
//     else if (item.kind === "error") fail(item.error.message);       // the endpoint's error event
//     else if (item.kind === "done") break;                           // data: [DONE]
//   }
//
// The bytes may be cut anywhere, also inside a character or between CR and LF. Lines may end in LF, CR LF or CR. A comment
// that is no tool event (a heartbeat) and a data line that is no JSON give nothing.

const TOOL_EVENT = /^:(tool_[a-z_]+):(\{[^]*)$/;

/** Takes pieces of the stream, gives the items that are complete. */
export class ToolEventReader {
  #decoder = new TextDecoder("utf-8");
  #rest = "";
  #sawCarriageReturn = false;
  #data = [];

  /** @param {Uint8Array | string} piece the next bytes (or text) of the stream @returns {object[]} complete items, in order */
  push(piece) {
    return this.#take(typeof piece === "string" ? piece : this.#decoder.decode(piece, { stream: true }));
  }

  /** The stream has ended: what an unfinished last line still holds. */
  end() {
    const items = this.#take(this.#decoder.decode());
    if (this.#rest) this.#line(this.#rest, items);
    this.#rest = "";
    this.#dispatch(items);
    return items;
  }

  #take(text) {
    const items = [];
    if (this.#sawCarriageReturn && text) {
      // the line ended with the last piece; a LF at the start of this one belongs to that end
      if (text[0] === "\n") text = text.slice(1);
      this.#sawCarriageReturn = false;
    }
    if (text.endsWith("\r")) this.#sawCarriageReturn = true;
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line, items);
    return items;
  }

  #line(line, items) {
    if (line === "") {
      this.#dispatch(items);
    } else if (line[0] === ":") {
      const found = TOOL_EVENT.exec(line);
      const event = found && parsed(found[2]);
      if (event) items.push({ kind: "tool", type: found[1], event });
    } else if (line.startsWith("data:")) {
      this.#data.push(line.startsWith("data: ") ? line.slice(6) : line.slice(5));
    } // event:, id: and retry: say nothing here
  }

  #dispatch(items) {
    if (!this.#data.length) return;
    const text = this.#data.join("\n").trim();
    this.#data = [];
    if (text === "[DONE]") {
      items.push({ kind: "done" });
      return;
    }
    const value = parsed(text);
    if (!value) return;
    items.push(value.error ? { kind: "error", error: asError(value.error) } : { kind: "chunk", chunk: value });
  }
}

/**
 * The items of a whole stream.
 * @param {Response | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>} source
 */
export async function* readToolEvents(source) {
  const reader = new ToolEventReader();
  for await (const piece of pieces(source.body ?? source)) yield* reader.push(piece);
  yield* reader.end();
}

// Safari's streams are no async iterables, so they are read by hand.
async function* pieces(stream) {
  if (typeof stream.getReader !== "function") {
    yield* stream;
    return;
  }
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // leaving the loop early ends the request; a broken one has ended already
  }
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

function asError(error) {
  return typeof error === "string" ? { message: error } : error;
}
