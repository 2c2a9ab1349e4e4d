// The live event panel. Python renders every fragment (escaped there) and says where it goes; this file places them.
//
//   {type: "ops", ops: [...], say?: text}    in order:
//     ["html", part, html]         make the element with data-part=part look like html, keeping focus and what was opened
//     ["add", part, html]          put html at the end of that element
//     ["text", part, delta]        add plain text to the text that streams in that element
//     ["settle", part, html, tail] put html before the streaming text, which is now `tail`
//   `say` is one short sentence for a screen reader
//
//   to Python: {type: "ready"}, {type: "decide", part, decision, arguments?}

const byPart = (root, part) => root.querySelector(`[data-part="${CSS.escape(part)}"]`);

function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// Make `old` look like `wanted` with as few changes as can be: nodes that stay keep focus, selection and scroll.
function morph(old, wanted) {
  if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName) {
    old.replaceWith(wanted);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  if (old.dataset.keep === "1" && wanted.dataset.keep === "1") return;
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !(name === "open" && old.dataset.touched) && name !== "data-touched") old.removeAttribute(name);
  }
  for (const { name, value } of [...wanted.attributes]) {
    if (name === "open" && old.dataset.touched) continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const want = [...wanted.childNodes];
  const have = [...old.childNodes];
  want.forEach((node, at) => (at < have.length ? morph(have[at], node) : old.append(node)));
  have.slice(want.length).forEach((node) => node.remove());
}

function duration(seconds) {
  if (seconds < 0.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

function render({ model, el }) {
  const place = document.createElement("div");
  place.className = "tnx-place";
  const live = document.createElement("p");
  live.className = "tnx-only-read";
  live.setAttribute("role", "status");
  el.append(place, live);
  place.append(fragment(model.get("html")));

  const tail = (part) => {
    const home = byPart(place, part);
    if (!home) return null;
    let span = home.querySelector(":scope > .tnx-tail, :scope > details > .tnx-tail");
    if (!span) {
      span = document.createElement("span");
      span.className = "tnx-tail";
      home.append(span);
    }
    if (!span.firstChild) span.append("");
    return span;
  };

  const operations = {
    html(part, html) {
      const old = byPart(place, part);
      const wanted = fragment(html).firstElementChild;
      if (old && wanted) morph(old, wanted);
    },
    add(part, html) {
      byPart(place, part)?.append(fragment(html));
    },
    text(part, delta) {
      const span = tail(part);
      if (span) span.firstChild.data += delta;
    },
    settle(part, html, rest) {
      const span = tail(part);
      if (!span) return;
      span.before(fragment(html));
      span.firstChild.data = rest;
    },
  };

  // Elapsed times go on by themselves between two messages.
  const seen = new WeakMap();
  const clock = setInterval(() => {
    for (const span of place.querySelectorAll(".tnx-since[data-elapsed]")) {
      let start = seen.get(span);
      if (!start || start.said !== span.dataset.elapsed) {
        start = { said: span.dataset.elapsed, at: performance.now() };
        seen.set(span, start);
      }
      span.textContent = duration(Number(start.said) + (performance.now() - start.at) / 1000);
    }
  }, 100);

  const onMessage = (message) => {
    if (message.type === "ops") for (const [name, ...rest] of message.ops) operations[name]?.(...rest);
    if (message.say) live.textContent = message.say;
  };

  const onClick = (event) => {
    const summary = event.target.closest("summary");
    if (summary) summary.parentElement.dataset.touched = "1";
    const button = event.target.closest("button[data-act]");
    if (button) act(button);
  };

  function act(button) {
    const group = button.closest("[data-call]");
    const part = group.dataset.call;
    const editor = group.querySelector(".tnx-edit");
    const problem = group.querySelector(".tnx-problem");
    if (button.dataset.act === "edit") {
      editor.hidden = false;
      editor.querySelector("textarea").focus();
      return;
    }
    const answer = { type: "decide", part, decision: button.dataset.act };
    if (button.dataset.act === "run-edited") {
      try {
        answer.arguments = JSON.parse(editor.querySelector("textarea").value);
        if (answer.arguments === null || typeof answer.arguments !== "object" || Array.isArray(answer.arguments)) throw new Error("it is no object");
      } catch (error) {
        problem.textContent = `This is no JSON object: ${error.message}`;
        return;
      }
      answer.decision = "edit";
    }
    for (const each of group.querySelectorAll("button")) each.disabled = true;
    problem.textContent = "sent";
    model.send(answer);
    place.querySelector("[data-call] button:not(:disabled)")?.focus();
  }

  // Keys belong to the panel while it has the focus: JupyterLab would take Enter and letters for its own commands.
  const onKey = (event) => {
    if (event.key === "Escape") {
      const editor = event.target.closest(".tnx-edit");
      if (editor) {
        editor.hidden = true;
        editor.closest("[data-call]").querySelector("[data-act=edit]")?.focus();
      }
    }
    if (event.target.closest("textarea, button, summary")) event.stopPropagation();
  };

  // What was said about the arguments is no longer true once they change.
  const onInput = (event) => {
    const problem = event.target.closest("[data-call]")?.querySelector(".tnx-problem");
    if (problem) problem.textContent = "";
  };

  model.on("msg:custom", onMessage);
  el.addEventListener("click", onClick);
  el.addEventListener("input", onInput);
  el.addEventListener("keydown", onKey);
  model.send({ type: "ready" });
  return () => {
    clearInterval(clock);
    model.off("msg:custom", onMessage);
    el.removeEventListener("click", onClick);
    el.removeEventListener("input", onInput);
    el.removeEventListener("keydown", onKey);
  };
}

export default { render };
