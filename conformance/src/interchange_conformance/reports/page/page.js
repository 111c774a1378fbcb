// Filters, collapsible areas and the details behind each cell, on top of tables that are there
// already.  Written by hand: no framework, so that the page works from a file, without a network.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);
  complete(data);
  const { report, states } = data;
  const details = makeDetails(data);
  const order = new Map(states.map((state, place) => [state.key, place]));
  const form = byId('filters');
  const dialog = byId('details');
  const KINDS = ['library', 'area', 'severity', 'status'];
  const PAGE = 10; // rows that Page Up and Page Down go over
  const expanded = new Set();
  const openers = new Map(); // what the fragment calls a button -> the button
  let opened = null;

  // -------------------------------------------------------------- the tables

  function subjectsOf(role) {
    const inRole = (result) => report.checks[result.check].role === role;
    return report.subjects.filter((subject) => subject.results.some(inRole));
  }

  function readTable(element) {
    const { role } = element.dataset;
    const heads = [...element.tHead.rows[0].cells].slice(1);
    const subjects = role === 'grid' ? [] : subjectsOf(role);
    const table = { element, role, heads, subjects, blocks: [], current: null };
    for (const body of element.tBodies) {
      const rows = [...body.rows].map(readRow);
      const sum = rows[0].element.classList.contains('area') ? rows.shift() : null;
      table.blocks.push({ body, area: body.dataset.area, sum, rows });
    }
    return table;
  }

  function readRow(element) {
    const [head, ...cells] = element.cells;
    return { element, head, cells: cells.map((cell) => ({ element: cell, ...cell.dataset })) };
  }

  const tables = [...document.querySelectorAll('table.verdicts')].map(readTable);
  const others = [...document.querySelectorAll('main [data-library]')].filter(
    (element) => !element.closest('table.verdicts'),
  );

  // -------------------------------------------------------------- buttons in the cells

  function addButton(table, cell, name, action) {
    const button = make('button', { type: 'button', tabindex: '-1' });
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener('click', () => {
      setCurrent(table, button);
      action(button);
    });
    if (name) {
      button.setAttribute('aria-haspopup', 'dialog');
      openers.set(name, button);
      button.dataset.name = name;
    }
    return button;
  }

  function addButtons(table) {
    table.element.setAttribute('role', 'grid');
    const box = table.element.parentElement;
    table.element.setAttribute('aria-label', box.getAttribute('aria-label'));
    for (const attribute of ['role', 'tabindex', 'aria-label']) box.removeAttribute(attribute);
    for (const block of table.blocks) {
      if (block.sum) addAreaButtons(table, block);
      for (const row of block.rows) {
        if (table.role === 'grid') addExchangeButtons(table, row);
        else addRuleButtons(table, block, row);
      }
    }
    table.element.addEventListener('keydown', (event) => move(table, event));
  }

  function addAreaButtons(table, block) {
    block.toggle = addButton(table, block.sum.head, '', () => toggle(block.area));
    block.sum.cells.forEach((cell, place) => {
      if (!cell.state) return;
      const name = [table.role, block.area, '', table.heads[place].dataset.library].join('/');
      const show = () => block.rows.filter((row) => row.matches);
      addButton(table, cell.element, name, (button) => {
        const library = table.heads[place].dataset.library;
        const title = `${library}: ${block.heading}`;
        open(button, title, details.rulesContent(table, block, show(), [place], true));
      });
    });
    block.heading = block.sum.head.querySelector('.name').textContent;
  }

  function addRuleButtons(table, block, row) {
    const { rule, severity } = row.element.dataset;
    const name = [table.role, block.area, rule, severity].join('/');
    addButton(table, row.head, name, (button) => {
      const places = row.cells.flatMap((cell, place) => (cell.element.hidden ? [] : [place]));
      open(button, rule, details.rulesContent(table, block, [row], places, false));
    });
    row.cells.forEach((cell, place) => {
      if (!cell.state) return;
      const { library } = table.heads[place].dataset;
      addButton(table, cell.element, `${name}/${library}`, (button) => {
        const title = `${library}: ${rule}`;
        open(button, title, details.rulesContent(table, block, [row], [place], false));
      });
    });
  }

  function addExchangeButtons(table, row) {
    const from = row.element.dataset.library;
    row.cells.forEach((cell, place) => {
      if (!cell.element.hasChildNodes()) return;
      const to = table.heads[place].dataset.library;
      addButton(table, cell.element, ['grid', from, to].join('/'), (button) => {
        open(button, `${from} → ${to}`, details.exchangeContent(row.at, place));
      });
    });
  }

  // -------------------------------------------------------------- the keyboard, within a table

  function setCurrent(table, button) {
    if (table.current) table.current.tabIndex = -1;
    table.current = button;
    if (button) button.tabIndex = 0;
  }

  function visibleButtons(table) {
    const rows = [...table.element.querySelectorAll('tbody tr')].filter((row) => !row.hidden);
    return rows.map((row) => [...row.cells].filter((cell) => !cell.hidden)
      .map((cell) => cell.querySelector('button:not([hidden])')));
  }

  function move(table, event) {
    const button = event.target.closest('button');
    if (!button || event.altKey || event.metaKey) return;
    const lines = visibleButtons(table);
    const y = lines.findIndex((line) => line.includes(button));
    const next = target(lines, event, lines[y].indexOf(button), y);
    if (!next) return;
    event.preventDefault();
    setCurrent(table, next);
    next.focus();
  }

  function target(lines, event, x, y) {
    const line = lines[y];
    const column = lines.map((one) => one[x]);
    const all = lines.flat().filter(Boolean);
    const whole = event.ctrlKey;
    const first = (found) => found.find(Boolean);
    const last = (found) => found.filter(Boolean).at(-1);
    switch (event.key) {
      case 'ArrowRight': return first(line.slice(x + 1));
      case 'ArrowLeft': return last(line.slice(0, x));
      case 'ArrowDown': return first(column.slice(y + 1));
      case 'ArrowUp': return last(column.slice(0, y));
      case 'Home': return whole ? all[0] : first(line);
      case 'End': return whole ? all.at(-1) : last(line);
      case 'PageDown': return last(column.slice(y + 1, y + 1 + PAGE));
      case 'PageUp': return first(column.slice(Math.max(0, y - PAGE), y));
      default: return null;
    }
  }

  // -------------------------------------------------------------- filters

  function chosen() {
    const data = new FormData(form);
    return Object.fromEntries(KINDS.map((kind) => [kind, new Set(data.getAll(kind))]));
  }

  const allows = (set, value) => set.size === 0 || value === undefined || set.has(value);

  function apply() {
    const now = chosen();
    const seen = { rows: 0, allRows: 0 };
    for (const table of tables) {
      for (const head of table.heads) head.hidden = !allows(now.library, head.dataset.library);
      for (const block of table.blocks) applyToBlock(table, block, now, seen);
      const buttons = visibleButtons(table).flat().filter(Boolean);
      if (!buttons.includes(table.current)) setCurrent(table, buttons[0] ?? null);
    }
    for (const element of others) {
      element.hidden = !KINDS.every((kind) => allows(now[kind], element.dataset[kind]));
    }
    for (const section of document.querySelectorAll('main > section')) showWhetherEmpty(section);
    tellWhatIsShown(now, seen);
    write();
  }

  function applyToBlock(table, block, now, seen) {
    const open = !block.sum || expanded.has(block.area);
    for (const row of block.rows) {
      row.cells.forEach((cell, place) => applyToCell(cell, table.heads[place], now));
      const { severity, library } = row.element.dataset;
      const statuses = row.cells.some((cell) => !cell.element.hidden && !cell.dim && cell.state);
      row.matches = allows(now.area, block.area) && allows(now.severity, severity)
        && allows(now.library, library)
        && (table.role === 'grid' || now.status.size === 0 || statuses);
      row.element.hidden = !(row.matches && open);
      if (block.sum) {
        seen.rows += row.matches;
        seen.allRows += 1;
      }
    }
    if (block.sum) applyToSum(table, block, now, open);
  }

  function applyToCell(cell, head, now) {
    cell.element.hidden = head.hidden;
    const group = cell.state && states[order.get(cell.state)].group;
    cell.dim = Boolean(group) && !allows(now.status, group);
    cell.element.classList.toggle('dim', cell.dim);
  }

  function applyToSum(table, block, now, open) {
    const rows = block.rows.filter((row) => row.matches);
    block.sum.element.hidden = rows.length === 0;
    block.toggle.setAttribute('aria-expanded', String(open));
    const many = `${rows.length} rule${rows.length === 1 ? '' : 's'}`;
    block.toggle.querySelector('.many').textContent = many;
    block.sum.cells.forEach((cell, place) => {
      if (cell.state) sumUp(cell, rows.map((row) => row.cells[place]).filter((one) => one.state));
      applyToCell(cell, table.heads[place], now);
    });
  }

  function sumUp(cell, cells) {
    const worst = Math.min(...cells.map((one) => order.get(one.state)));
    const [passed, applicable] = [0, 1].map(
      (part) => cells.reduce((sum, one) => sum + Number(one.of.split('/')[part]), 0),
    );
    const button = cell.element.querySelector('button');
    button.hidden = cells.length === 0;
    if (cells.length === 0) return;
    const state = states[worst];
    const share = applicable ? `${passed}/${applicable}` : '';
    cell.state = state.key;
    cell.element.className = state.group;
    const spoken = make('span', { class: 'unseen' }, share ? `${state.word}, ` : '');
    const mark = make('i', { 'aria-hidden': 'true' }, state.symbol);
    button.replaceChildren(mark, ' ', spoken, make('span', {}, share || state.word));
  }

  function showWhetherEmpty(section) {
    const parts = section.querySelectorAll('tbody tr, .card');
    const columns = section.querySelectorAll('table.verdicts thead th[data-library]');
    const none = (found) => found.length > 0 && [...found].every((one) => one.hidden);
    const empty = none(parts) || none(columns);
    section.querySelector('.nothing').hidden = !empty;
    for (const box of section.querySelectorAll('.scroll, .cards')) box.hidden = empty;
  }

  function tellWhatIsShown(now, seen) {
    const boxes = [...form.querySelectorAll('[name=library]')];
    const libraries = now.library.size || boxes.length;
    const count = KINDS.reduce((sum, kind) => sum + now[kind].size, 0);
    byId('showing').textContent = count === 0
      ? `All ${boxes.length} libraries and ${seen.allRows} rows of rules.`
      : `${libraries} of ${boxes.length} libraries, ${seen.rows} of ${seen.allRows} rows of rules.`;
    byId('chosen').textContent = count ? `(${count} chosen)` : '';
    byId('clear').hidden = count === 0;
    byId('expand').textContent = expanded.size ? 'Show areas only' : 'Show every rule';
    byId('expand').hidden = seen.allRows === 0;
  }

  // -------------------------------------------------------------- areas

  function areas() {
    return tables.flatMap((table) => table.blocks.filter((block) => block.sum))
      .map((block) => block.area);
  }

  function toggle(area) {
    if (!expanded.delete(area)) expanded.add(area);
    apply();
  }

  function toggleAll() {
    const all = expanded.size ? [] : areas();
    expanded.clear();
    for (const area of all) expanded.add(area);
    apply();
  }

  // -------------------------------------------------------------- the fragment of the URL

  function write() {
    const told = new URLSearchParams();
    for (const [kind, values] of Object.entries(chosen())) {
      for (const value of values) told.append(kind, value);
    }
    for (const area of expanded) told.append('expand', area);
    if (opened) told.append('open', opened.dataset.name);
    const text = told.toString();
    if (text || location.hash.includes('=')) history.replaceState(null, '', `#${text}`);
  }

  function read() {
    const hash = location.hash.slice(1);
    const told = new URLSearchParams(hash.includes('=') ? hash : '');
    for (const box of form.querySelectorAll('input')) {
      box.checked = told.getAll(box.name).includes(box.value);
    }
    const known = new Set(areas());
    expanded.clear();
    for (const area of told.getAll('expand')) if (known.has(area)) expanded.add(area);
    const button = openers.get(told.get('open') ?? '');
    const area = button?.closest('tr.rule')?.parentElement.dataset.area;
    if (area) expanded.add(area);
    if (dialog.open) dialog.close();
    apply();
    if (button) button.click();
  }

  // -------------------------------------------------------------- details

  function open(button, title, content) {
    opened = button;
    byId('details-title').textContent = title;
    byId('details-body').replaceChildren(content);
    dialog.showModal();
    byId('details-body').scrollTop = 0;
    write();
  }

  function closed() {
    if (dialog.open) return; // the fragment has opened another cell meanwhile
    const button = opened;
    opened = null;
    write();
    button?.focus();
  }

  // -------------------------------------------------------------- beginning

  function goTo(event) {
    const anchor = event.target.closest('a[href^="#"]');
    if (!anchor) return;
    const place = byId(anchor.hash.slice(1));
    event.preventDefault(); // the fragment is taken by the filters
    place.scrollIntoView();
    (place.querySelector(':scope > h2') ?? place).focus({ preventScroll: true });
  }

  for (const table of tables) {
    for (const block of table.blocks) block.rows.forEach((row, at) => { row.at = at; });
    addButtons(table);
  }
  for (const section of document.querySelectorAll('main > section')) {
    const words = 'Nothing here matches the filters.';
    section.append(make('p', { class: 'nothing', hidden: '' }, words));
  }
  document.documentElement.classList.add('scripted');
  document.addEventListener('click', goTo);
  form.addEventListener('change', (event) => {
    const { name, value, checked } = event.target;
    if (checked && name === 'area') expanded.add(value);
    if (checked && name === 'status') areas().forEach((area) => expanded.add(area));
    apply();
  });
  form.addEventListener('reset', () => setTimeout(apply));
  form.addEventListener('submit', (event) => event.preventDefault());
  byId('expand').addEventListener('click', toggleAll);
  byId('close').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', closed);
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  addEventListener('hashchange', read);
  byId('panel').open = matchMedia('(min-width: 60rem)').matches;
  form.hidden = false;
  read();
})();
