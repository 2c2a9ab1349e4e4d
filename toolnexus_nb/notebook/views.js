// A pane: HTML that Python has escaped, with what a page without scripts can't have: copying, filtering, buttons.
// The same HTML is the static form, so nothing here may be needed to read it.

const COPIED_MS = 1500;

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // a page that is not served from localhost or https has no clipboard: copy from a selection, as pages did before
    const area = Object.assign(document.createElement("textarea"), { value: text });
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("copying is not allowed here");
  }
}

function button(words, label) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "tnx-copy";
  made.textContent = words;
  made.setAttribute("aria-label", label);
  return made;
}

function addCopyButtons(root) {
  for (const pre of root.querySelectorAll("pre.tnx-copyable")) {
    const what = pre.dataset.copy || "text";
    const control = button("copy", `copy ${what}`);
    control.addEventListener("click", async () => {
      const said = await copy(pre.textContent).then(() => "copied", () => "select and copy by hand");
      control.textContent = said;
      control.setAttribute("aria-label", said);
      setTimeout(() => {
        control.textContent = "copy";
        control.setAttribute("aria-label", `copy ${what}`);
      }, COPIED_MS);
    });
    pre.before(control);
  }
}

function addFilter(root) {
  const list = root.querySelector(".tnx-filterable");
  if (!list) return;
  const rows = [...list.querySelectorAll("[data-find]")];
  const box = document.createElement("div");
  box.className = "tnx-filter";
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "name or description" });
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  count.className = "tnx-hint";
  label.append("filter ", input);
  box.append(label, count);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.find.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} shown` : "";
  });
  // JupyterLab's own keys must not act while somebody types here
  input.addEventListener("keydown", (event) => event.stopPropagation());
  list.before(box);
}

function render({ model, el }) {
  const draw = () => {
    const open = [...el.querySelectorAll("details")].map((details) => details.open);
    el.innerHTML = model.get("html");
    el.querySelectorAll("details").forEach((details, index) => {
      if (index in open && el.dataset.drawn) details.open = open[index];
    });
    el.dataset.drawn = "yes";
    addCopyButtons(el);
    addFilter(el);
  };
  const click = (event) => {
    const pressed = event.target.closest?.("button[data-act]");
    if (pressed) model.send({ type: pressed.dataset.act, name: pressed.dataset.name });
  };
  el.addEventListener("click", click);
  model.on("change:html", draw);
  draw();
  model.send({ type: "ready" });
  return () => {
    el.removeEventListener("click", click);
    model.off("change:html", draw);
  };
}

export default { render };
