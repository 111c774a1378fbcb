// What stands behind the cells: functions that make elements of a report, and keep nothing.
// Text only ever reaches the page by way of textContent: what a library said is data.
// Written by hand: no framework, so that the page works from a file, without a network.
'use strict';

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== ''));
  return element;
}

const NUMBERED = ['item', 'evidence', 'output', 'cause', 'reason', 'link', 'releases'];

// Put back what the page has once only, or not at all, because it is so for most results.
function complete({ report, texts }) {
  for (const result of report.subjects.flatMap((subject) => subject.results)) {
    for (const key of NUMBERED) if (key in result) result[key] = texts[result[key]];
    [result.check] = result.item.split('[', 1);
    result.status ??= 'pass';
    result.standing ??= 'as-expected';
  }
}

function makeDetails({ report, states, outcomes }) {
  const GOOD = ['pass', 'not-applicable'];
  const order = new Map(states.map((state, place) => [state.key, place]));

  function chip(symbol, word, group) {
    const mark = make('i', { 'aria-hidden': 'true' }, symbol);
    return make('span', { class: `chip-state ${group}` }, mark, ` ${word}`);
  }

  function severityMark(severity) {
    return make('span', { class: `severity ${severity}` }, severity);
  }

  function facts(rows) {
    const list = make('dl');
    for (const [term, told] of rows) {
      if (told) list.append(make('dt', {}, term), make('dd', {}, told));
    }
    return list;
  }

  function sentence(text) {
    const words = /^[a-z]+(\s|$)/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
    return /[.!?:]$/.test(words) ? words : `${words}.`;
  }

  function shell(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
  }

  function rulesContent(table, block, rows, places, named) {
    const content = make('div');
    const place = (cell) => order.get(cell.state) ?? states.length;
    const badness = (row) => Math.min(...places.map((at) => place(row.cells[at])));
    const alone = places.length === 1 ? table.heads[places[0]].dataset.library : '';
    for (const row of rows.toSorted((one, other) => badness(one) - badness(other))) {
      const part = ruleContent(row, named);
      for (const at of places) {
        const results = resultsOf(table, block, row, at);
        if (!alone && results.length) part.append(make('h3', {}, table.heads[at].dataset.library));
        const heading = alone && !named ? 'h3' : 'h4';
        part.append(...checksContent(table.subjects[at], results, heading, Boolean(alone)));
      }
      if (part.querySelector('.check')) content.append(part);
    }
    return content;
  }

  function ruleContent(row, named) {
    const { rule, severity } = row.element.dataset;
    const { text, way_out: wayOut, source } = report.rules[rule];
    const head = make('p', { class: 'says' }, severityMark(severity), ` ${sentence(text)}`);
    const told = facts([['Fix', sentence(wayOut)], ['Source', source]]);
    return make('section', { class: 'rule' }, named ? make('h3', {}, rule) : '', head, told);
  }

  function resultsOf(table, block, row, place) {
    const { rule, severity } = row.element.dataset;
    return table.subjects[place].results.filter((result) => {
      const check = report.checks[result.check];
      return check.role === table.role && check.area === block.area && check.rule === rule
        && check.severity === severity;
    });
  }

  function stateOf(result) {
    if (result.standing === 'unexpected-pass') return states[order.get('now-passes')];
    const isBad = !GOOD.includes(result.status);
    if (result.standing === 'allowed') return states[order.get(isBad ? 'quirk' : 'pass')];
    const known = result.standing === 'as-expected' && isBad;
    return states[order.get(known ? 'known' : result.status)];
  }

  function groupBy(values, key) {
    const groups = new Map();
    for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
    return [...groups.values()];
  }

  function checksContent(subject, results, heading, full) {
    return groupBy(results, (result) => result.check).map((ofCheck) => {
      const check = report.checks[ofCheck[0].check];
      const alike = groupBy(ofCheck, (one) => JSON.stringify(
        [stateOf(one).key, one.evidence, one.output, one.reason, one.link, one.releases],
      ));
      alike.sort((a, b) => order.get(stateOf(a[0]).key) - order.get(stateOf(b[0]).key));
      const article = make('article', { class: 'check' });
      article.append(make(heading, {}, check.claim));
      article.append(...alike.map((some) => resultContent(subject, some)));
      if (full) {
        article.append(facts([['If it fails', check.advice], ['Source', check.source],
          ['Check', make('code', {}, ofCheck[0].check)]]));
      }
      return article;
    });
  }

  function resultContent(subject, some) {
    const [one] = some;
    const state = stateOf(one);
    const cases = some.map((result) => result.item.slice(result.check.length + 1, -1));
    const mark = chip(state.symbol, state.word, state.group);
    const head = make('p', {}, mark, ` ${cases.filter(Boolean).join(', ')}`);
    const box = make('div', { class: `result ${state.group}` }, head);
    if (state.key === 'pass') return box;
    const why = make('span', {}, one.reason ?? '');
    if (one.link) why.append(' ', link(one.link));
    const command = `interchange check ${shell(subject.spec)} --only ${shell(one.item)}`;
    box.append(facts([
      [state.key === 'not-applicable' ? 'Lacks' : 'Found', pre(one.evidence)],
      ['Printed', folded(one.output)],
      ['Known', one.reason || one.link ? why : null],
      ['Releases', one.releases ?? ''],
      ['Again', state.key === 'not-applicable' ? null : make('code', {}, command)],
    ]));
    return box;
  }

  const pre = (text) => (text?.trim() ? make('pre', {}, text.trimEnd()) : null);

  function folded(text) {
    const inside = pre(text);
    if (!inside) return null;
    const count = text.trim().split('\n').length;
    const summary = make('summary', {}, `${count} line${count === 1 ? '' : 's'}`);
    return make('details', {}, summary, inside);
  }

  function link(address) {
    return /^https?:\/\/\S+$/.test(address)
      ? make('a', { href: address, rel: 'noreferrer' }, address) : address;
  }

  function exchangeContent(from, to) {
    const producers = [...new Set(report.grid.map((one) => one.producer))];
    const consumers = [...new Set(report.grid.map((one) => one.consumer))];
    const found = report.grid.filter(
      (one) => one.producer === producers[from] && one.consumer === consumers[to],
    ).at(-1);
    const { symbol, group, meaning } = outcomes[found.status];
    const content = make('div', { class: `result ${group}` });
    content.append(make('p', {}, chip(symbol, found.status, group), ` ${sentence(meaning)}`));
    content.append(facts([['Found', pre(found.evidence)]]));
    return content;
  }

  return { rulesContent, exchangeContent };
}

