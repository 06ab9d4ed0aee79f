"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const nodes = data.nodes, classes = data.classes;
  const query = document.getElementById("query"), matches = document.getElementById("matches");
  const result = document.getElementById("result");
  const types = { Uint8Array, Uint16Array, Int16Array, Uint32Array, Float32Array };
  const SUGGESTED = 12;

  const make = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
  const holder = document.createElement("div");
  holder.innerHTML = "<svg></svg>";
  const svg = holder.firstChild.namespaceURI;
  const draw = (tag, properties, ...children) =>
    fill(document.createElementNS(svg, tag), properties, children);
  const fill = (element, properties = {}, children = []) => {
    for (const [name, value] of Object.entries(properties)) {
      if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  const unpack = async ({ type, data }) => {
    const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const answer = new Response(stream);
    return type === "json" ? answer.json() : new types[type](await answer.arrayBuffer());
  };

  const unpackAll = async () => {
    const columns = Object.entries(nodes).filter(([, value]) => value && value.type);
    const unpacked = await Promise.all(columns.map(([, value]) => unpack(value)));
    const table = Object.fromEntries(columns.map(([name], i) => [name, unpacked[i]]));
    table.ids ??= [];
    table.place = new Map(table.ids.slice(0, nodes.shown).map((id, i) => [id, i]));
    return table;
  };
  const loading = unpackAll();

  const percent = (hundredths) =>
    hundredths >= 10000 ? "> 99.99 %" : hundredths ? `${(hundredths / 100).toFixed(2)} %` : "< 0.01 %";
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
  const emphasised = (text) =>
    text.split(/\*([^*]+)\*/).map((piece, i) => (i % 2 ? make("em", {}, piece) : piece));
  const link = (id, known) =>
    known ? make("a", { href: `#node=${encodeURIComponent(id)}` }, id) : id;

  const chances = (table, row) => {
    const body = make("tbody");
    let rest = 10000;
    for (let t = 0; t < nodes.perNode; t++) {
      const p = table.probabilities[row * nodes.perNode + t];
      rest -= p;
      body.append(chance(classes[table.classes[row * nodes.perNode + t]], p, t === 0));
    }
    const others = classes.length - nodes.perNode;
    if (others > 0) body.append(chance(`the other ${others} classes`, Math.max(rest, 0), false));
    return make("table", { class: "chances" }, make("caption", {}, "How probable each class is"), body);
  };
  const chance = (name, p, first) =>
    make("tr", first ? { class: "first" } : {},
      make("th", { scope: "row" }, name), make("td", { class: "number" }, percent(p)),
      make("td", { "aria-hidden": "true" },
        make("div", { class: "chance" }, make("b", { style: { "--size": `${p / 100}%` } }))));

  const terms = (table, row) => {
    const width = nodes.top + 3, start = row * width, scale = table.scale[row];
    const value = (k) => table.terms[start + k] * scale;
    const lines = [[data.own, "", value(0)]];
    if (data.layers > 1) lines.push([data.echo, "", value(1)]);
    let listed = 0;
    for (let k = 0; k < nodes.top; k++) {
      const neighbour = table.neighbours[row * nodes.top + k];
      if (!neighbour) break;
      listed++;
      const id = table.ids[neighbour - 1];
      lines.push([link(id, neighbour <= nodes.shown), classes[table.predicted[neighbour - 1]] ?? "", value(2 + k)]);
    }
    const others = data.layers ? table.degree[row] - listed : 0;
    if (others > 0) {
      const near = others === 1 ? "neighbour" : "neighbours", far = others === 1 ? "node" : "nodes";
      const kind = data.far ? `${far} within two hops` : near;
      const name = `the other ${others === 1 ? "" : `${others.toLocaleString("en")} `}${kind}`;
      lines.push([name, "", value(width - 1)]);
    }
    const largest = Math.max(...lines.map((line) => Math.abs(line[2])), 5e-3);
    const body = make("tbody", {}, ...lines.map((line) => term(...line, largest)));
    const total = lines.reduce((sum, line) => sum + line[2], 0);
    body.append(make("tr", { class: "total" }, make("th", { scope: "row" }, "together"),
      make("td", { class: "number" }, signed(total)), make("td")));
    const best = classes[table.classes[row * nodes.perNode]];
    const second = classes[table.classes[row * nodes.perNode + 1]];
    const key = make("p", { class: "key", "aria-hidden": "true" },
      make("span", {}, `← for ${second}`), make("span", {}, `for ${best} →`));
    const caption = `What speaks for ${best} (+) rather than ${second} (−)`;
    return make("div", {}, make("table", { class: "terms" }, make("caption", {}, caption), body), key);
  };
  const term = (name, kind, value, largest) => {
    const size = (50 * Math.abs(value)) / largest;
    const bar = make("b", { style: { "--size": `${size}%`, "--from": `${value < 0 ? 50 - size : 50}%` } });
    return make("tr", {},
      make("th", { scope: "row" }, name, ...(kind ? [make("small", {}, kind)] : [])),
      make("td", { class: "number" }, signed(value)),
      make("td", { "aria-hidden": "true" }, make("div", { class: value < 0 ? "both against" : "both" }, bar)));
  };

  const cut = (text, most = 14) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const dot = ([x, y], kind, size, id) => {
    const below = y < 110 ? -28 : size + 12;
    const words = id === undefined ? [] : [cut(id), cut(classes[kind] ?? "")];
    return draw("g", { style: { "--hue": `${(kind * 137.5) % 360}` } },
      draw("circle", { cx: x, cy: y, r: size }),
      ...words.map((word, i) => draw("text", { x, y: y + below + 12 * i, "text-anchor": "middle" }, word)));
  };

  const neighbourhood = (table, row) => {
    const near = [];
    for (let k = 0; k < nodes.top && table.neighbours[row * nodes.top + k]; k++) {
      near.push([table.neighbours[row * nodes.top + k] - 1, table.terms[row * (nodes.top + 3) + 2 + k]]);
    }
    if (!near.length) return [];
    const centre = [180, 130], angle = (k) => (2 * Math.PI * k) / near.length - Math.PI / 2;
    const at = near.map((_, k) => [180 + 128 * Math.cos(angle(k)), 130 + 92 * Math.sin(angle(k))]);
    const largest = Math.max(...near.map(([, value]) => Math.abs(value)), 1);
    const line = ([x1, y1], [x2, y2], kind, width) =>
      draw("line", { x1, y1, x2, y2, class: kind, "stroke-width": width });
    const lines = [];
    let bit = 0;
    for (let a = 0; a < nodes.top; a++) {
      for (let b = a + 1; b < nodes.top; b++, bit++) {
        if (table.links[row] >> bit & 1) lines.push(line(at[a], at[b], "link", 1.5));
      }
    }
    near.forEach(([, value], k) =>
      lines.push(line(centre, at[k], value < 0 ? "against" : "for", 1 + (5 * Math.abs(value)) / largest)));
    const own = table.classes[row * nodes.perNode], id = table.ids[row];
    const dots = near.map(([place], k) => dot(at[k], table.predicted[place], 10, table.ids[place]));
    const others = table.degree[row] - near.length;
    const rest = others > 0 ? ` ${others.toLocaleString("en")} more ${others === 1 ? "is" : "are"} not drawn.` : "";
    const text = `${id} among its ${near.length === 1 ? "neighbour" : `${near.length} most influential neighbours`}.`;
    return [make("figure", { class: "near" },
      make("figcaption", {}, "The node among its neighbours"),
      draw("svg", { viewBox: "0 0 360 270", role: "img", "aria-label": `${text} The table has the numbers.` },
        ...lines, ...dots, dot(centre, own, 15)),
      make("p", { class: "note" }, `Lines towards the middle speak for ${classes[own]} (solid) or against it `,
        `(dashed), the wider the more; thin ones join neighbours. Colours are classes.${rest}`))];
  };

  const show = (table, row) => {
    const id = table.ids[row], best = classes[table.classes[row * nodes.perNode]];
    const label = table.label[row] ? classes[table.label[row] - 1] : null;
    const facts = label === null ? "no label" : `label: ${label} (${data.uses[table.part[row]] || "not used"})`;
    query.value = id;
    result.replaceChildren(
      make("h3", {}, id, " is ", make("em", {}, best)),
      make("p", { class: "note" }, facts),
      make("p", { class: "words" }, ...emphasised(table.words[row])),
      make("div", { class: "side" },
        make("div", { class: "rows" }, chances(table, row), ...neighbourhood(table, row)), terms(table, row)));
  };

  const close = (table, text) => {
    const wanted = text.trim().toLowerCase(), found = [], inside = [];
    if (!wanted) return found;
    for (let i = 0; i < nodes.shown && found.length < SUGGESTED; i++) {
      const at = table.ids[i].toLowerCase().indexOf(wanted);
      if (at === 0) found.push(table.ids[i]);
      else if (at > 0 && inside.length < SUGGESTED) inside.push(table.ids[i]);
    }
    return [...found, ...inside].slice(0, SUGGESTED);
  };

  const missing = (table, text) => {
    const near = close(table, text);
    const help = nodes.shown < nodes.all
      ? `If the node exists, see it with: cpgnn explain ${data.run} ${text}`
      : "Ids are case-sensitive and must be complete.";
    const links = near.flatMap((id, i) => (i ? [", ", link(id, true)] : [link(id, true)]));
    result.replaceChildren(make("p", { class: "warn" }, `This page has no node called “${text}”. `,
      ...(near.length ? ["Did you mean ", ...links, "?"] : [help])));
  };

  const look = async (text) => {
    const table = await loading;
    const row = table.place.get(text) ?? table.place.get(text.trim());
    if (row !== undefined) return show(table, row);
    const near = close(table, text);
    return near.length === 1 ? show(table, table.place.get(near[0])) : missing(table, text);
  };

  const fromAddress = () => {
    const found = /^#node=(.*)$/.exec(location.hash);
    if (!found) return;
    document.getElementById("search").scrollIntoView();
    look(decodeURIComponent(found[1]));
  };

  query.addEventListener("input", async () => {
    const table = await loading;
    matches.replaceChildren(...close(table, query.value).map((id) => make("option", { value: id })));
    if (table.place.has(query.value)) show(table, table.place.get(query.value));
  });
  document.getElementById("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (query.value.trim()) look(query.value);
  });
  window.addEventListener("hashchange", fromAddress);
  loading.then(fromAddress, () => {
    result.replaceChildren(make("p", { class: "warn" },
      `This browser is too old for the search. Use: cpgnn explain ${data.run} NODE`));
  });
})();
