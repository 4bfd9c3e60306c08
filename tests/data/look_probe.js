// SPDX-License-Identifier: BSD-3-Clause
// What tests/analysis/pages/test_analysis_look.py wants to know: what is cut off, and which colours are used twice.
addEventListener('load', () => {
  for (const one of document.querySelectorAll('details')) one.open = true;
  const scrolls = element => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
  const kept = element => element.parentElement && (scrolls(element.parentElement) || kept(element.parentElement));
  const shown = element => { const b = element.getBoundingClientRect(); return b.width > 0 && b.height > 0; };
  const named = element => element.tagName + '.' + element.getAttribute('class') + ': ' + element.textContent.trim().slice(0, 40);
  const outside = element => { const b = element.getBoundingClientRect(); return b.right > document.documentElement.clientWidth + 1 || b.left < -1; };
  const all = [...document.body.querySelectorAll('*')].filter(shown);
  // What scrolls in a box of its own may be wider; charts, the heat map and the first screen may not.
  const whole = all.filter(e => e.closest('figure, .answers, .verdict, h1, nav') || !kept(e));
  const wide = whole.filter(outside).map(named);
  const inside = [...document.querySelectorAll('figure svg, .heat')].filter(shown);
  const cut = inside.filter(e => {
    const figure = e.closest('figure').getBoundingClientRect(), own = e.getBoundingClientRect();
    return own.right > figure.right + 1 || own.left < figure.left - 1;
  }).map(named);
  const tops = [...document.querySelectorAll('.bars .panels')].map(group =>
    new Set([...group.children].map(panel => Math.round(panel.getBoundingClientRect().top))).size === group.children.length);
  const legends = [...document.querySelectorAll('.legend')].map(legend =>
    [...legend.querySelectorAll('rect')].map(rect => rect.getAttribute('fill')));
  const untold = [...document.querySelectorAll('figure svg')].filter(svg => !svg.closest('.legend') && !svg.querySelector('title')).map(named);
  const found = { wide, cut, stacked: tops.every(Boolean), groups: tops.length, legends, untold, charts: inside.length,
    page: document.documentElement.scrollWidth - document.documentElement.clientWidth };
  const pre = document.createElement('pre');
  pre.id = 'found'; pre.textContent = JSON.stringify(found);
  document.body.append(pre);
});
