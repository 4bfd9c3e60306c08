// SPDX-License-Identifier: BSD-3-Clause
// What tests/analysis/pages/test_analysis_report.py wants to know of the report in a browser.
const errors = [];
addEventListener('error', event => errors.push(event.message || 'resource ' + event.target.outerHTML), true);
addEventListener('securitypolicyviolation', event => errors.push('blocked ' + event.blockedURI));
addEventListener('load', () => {
  const marks = [...document.querySelectorAll('figure:has(svg title)')].map(figure =>
    [...figure.querySelectorAll('[class*="role-mark"] path, [class*="role-mark"] line, rect.median')]
      .filter(mark => { const b = mark.getBoundingClientRect(); return b.width + b.height > 0; }).length);
  const table = document.querySelector('#overview ~ .card table');
  const column = name => [...table.querySelectorAll('th')].findIndex(th => th.dataset.name === name);
  const head = table.querySelectorAll('th')[column('write_mib_s')];
  const values = () => [...table.tBodies[0].rows].filter(r => !r.hidden)
    .map(r => Number(r.cells[column('write_mib_s')].dataset.sort));
  const press = key => head.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  head.click(); const up = values(); press(' '); const down = values(); press('Enter'); const again = values();
  const tools = document.querySelector('#overview ~ .tools');
  const search = tools.querySelector('input');
  search.value = 'mpiio ram'; search.dispatchEvent(new Event('input', {bubbles: true}));
  const found_rows = values().length;
  search.value = ''; search.dispatchEvent(new Event('input', {bubbles: true}));
  const select = [...tools.querySelectorAll('select')].find(s => s.ariaLabel === 'stack');
  select.value = 'mpich'; select.dispatchEvent(new Event('input', {bubbles: true}));
  const chosen_rows = values().length;
  const found = { errors, marks, up, down, again, found_rows, chosen_rows,
    resources: performance.getEntriesByType('resource').map(entry => entry.name),
    too_wide: document.documentElement.scrollWidth - innerWidth };
  const pre = document.createElement('pre');
  pre.id = 'found'; pre.textContent = JSON.stringify(found);
  document.body.append(pre);
});
