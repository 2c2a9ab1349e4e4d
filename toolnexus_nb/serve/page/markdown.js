// The marks that models use in their answers, as elements: paragraphs, headings, lists, code, quotes, tables, links.
// Everything is made by createElement and textContent, so no text can become HTML. What is not understood stays as it is.

const FENCE = /^\s{0,3}(```+|~~~+)\s*(\S*)/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const DIVIDER = /^\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;

/** @param {string} text @returns {DocumentFragment} */
export function renderMarkdown(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const whole = document.createDocumentFragment();
  let at = 0;
  while (at < lines.length) at = block(lines, at, whole);
  return whole;
}

function block(lines, at, into) {
  const line = lines[at];
  if (!line.trim()) return at + 1;
  if (FENCE.test(line)) return fenced(lines, at, into);
  if (RULE.test(line)) return into.append(make("hr")), at + 1;
  const heading = HEADING.exec(line);
  if (heading) return into.append(inline(make(`h${Math.min(6, heading[1].length + 2)}`), heading[2])), at + 1;
  if (QUOTE.test(line)) return quoted(lines, at, into);
  if (ITEM.test(line)) return list(lines, at, into);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "")) return table(lines, at, into);
  return paragraph(lines, at, into);
}

function fenced(lines, at, into) {
  const [, fence] = FENCE.exec(lines[at]);
  const code = [];
  for (at += 1; at < lines.length && !lines[at].trim().startsWith(fence); at += 1) code.push(lines[at]);
  const pre = make("pre");
  pre.tabIndex = 0; // a long line is scrolled with the keyboard too
  pre.append(make("code", code.join("\n")));
  into.append(pre);
  return at + 1;
}

function quoted(lines, at, into) {
  const inner = [];
  for (; at < lines.length && QUOTE.test(lines[at]); at += 1) inner.push(QUOTE.exec(lines[at])[1]);
  const quote = make("blockquote");
  quote.append(renderMarkdown(inner.join("\n")));
  into.append(quote);
  return at;
}

// An item holds the lines that are indented below it, lists included.
function list(lines, at, into) {
  const [, indent, mark] = ITEM.exec(lines[at]);
  const numbered = /\d/.test(mark);
  const whole = make(numbered ? "ol" : "ul");
  if (numbered && parseInt(mark, 10) !== 1) whole.start = parseInt(mark, 10);
  while (at < lines.length) {
    const found = ITEM.exec(lines[at]);
    if (!found || found[1].length !== indent.length || /\d/.test(found[2]) !== numbered) break;
    const inner = [];
    for (at += 1; at < lines.length && belongs(lines, at, indent.length); at += 1) inner.push(lines[at].slice(indent.length + 2));
    while (inner.length && !inner.at(-1).trim()) inner.pop();
    const item = inline(make("li"), found[3]);
    if (inner.length) item.append(renderMarkdown(inner.join("\n")));
    whole.append(item);
    while (at < lines.length && !lines[at].trim() && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  into.append(whole);
  return at;
}

function belongs(lines, at, indent) {
  const deeper = (line) => line !== undefined && line.search(/\S/) >= indent + 2;
  return deeper(lines[at]) || (!lines[at].trim() && deeper(lines[at + 1]));
}

function table(lines, at, into) {
  const whole = make("table");
  const head = make("tr");
  for (const cell of cells(lines[at])) head.append(inline(make("th"), cell));
  whole.createTHead().append(head);
  const body = whole.createTBody();
  for (at += 2; at < lines.length && lines[at].includes("|"); at += 1) {
    const row = make("tr");
    for (const cell of cells(lines[at])) row.append(inline(make("td"), cell));
    body.append(row);
  }
  into.append(whole);
  return at;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function paragraph(lines, at, into) {
  const said = [];
  do said.push(lines[at++]);
  while (at < lines.length && lines[at].trim() && ![FENCE, HEADING, ITEM, QUOTE, RULE].some((begins) => begins.test(lines[at])));
  into.append(inline(make("p"), said.join("\n")));
  return at;
}

const INLINE = /(`+)(.+?)\1(?!`)|\*\*(?=\S)(.+?\S?)\*\*|(?<![\w*])[*_](?=\S)([^*_]*[^*_\s])[*_](?![\w*])|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/s;

const LONGEST = 20_000; // characters of one paragraph; marks that never close are looked for from each of them

function inline(into, text) {
  if (text.length > LONGEST) return into.append(text), into;
  for (let found = INLINE.exec(text); found; found = INLINE.exec(text)) {
    into.append(text.slice(0, found.index));
    const [all, , code, strong, soft, label, address] = found;
    if (code !== undefined) into.append(make("code", code));
    else if (strong !== undefined) into.append(inline(make("strong"), strong));
    else if (soft !== undefined) into.append(inline(make("em"), soft));
    else into.append(link(label, address));
    text = text.slice(found.index + all.length);
  }
  into.append(text);
  return into;
}

function link(label, address) {
  const made = make("a", label);
  Object.assign(made, { href: address, target: "_blank", rel: "noopener noreferrer", title: address });
  return made;
}

function make(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}
