// Builds selectors for an element, best first; each one matches only this element in the current document.
// CSS matches are counted as Playwright counts them, including open shadow roots. Roles, labels and texts are
// approximated here and marked `sure` only where their interpretation is unambiguous.
(recorder, own) => {
  const squeeze = text => (text || '').replace(/\s+/g, ' ').trim();
  const TEST_IDS = ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa'];
  const OTHERS = ['href', 'title', 'alt', 'value', 'for', 'src', 'type', 'aria-label'];
  const OF_ROLE = {
    button: 'button, input, summary', link: 'a, area', textbox: 'input, textarea', searchbox: 'input',
    heading: 'h1, h2, h3, h4, h5, h6', checkbox: 'input', radio: 'input', spinbutton: 'input', slider: 'input',
    combobox: 'select, input', listbox: 'select', img: 'img, svg', cell: 'td, th', columnheader: 'th',
  };
  const LABELLED = 'input, textarea, select, button, meter, output, progress, [aria-label], [aria-labelledby]';
  const NON_CONTENT = new Set(['html', 'head', 'body', 'script', 'style', 'noscript', 'template', 'title']);
  const MADE = [
    /\d{4,}/, /[0-9a-f]{8,}/i, /:/, /^[a-z]{0,3}[-_]?\d+$/i,
    /^(ember|react|radix|mui|headlessui|yui|ext-gen|gwt|cdk|mat|el|ui|auto|generated?|uid|field|input)[-_]?(\w+-)*\d+/i,
  ];
  const CONTROL = /[\u0000-\u001f\u007f]/;
  const isMade = id => MADE.some(pattern => pattern.test(id));
  const quoted = text => `"${text.replace(/["\\]/g, '\\$&')}"`;
  const pair = (name, value) => `[${name}=${quoted(value)}]`;
  const isField = element => element.matches('input, textarea, select');

  const rootsOf = () => {
    const roots = [document];
    for (let place = 0; place < roots.length; place++) {
      for (const each of roots[place].querySelectorAll('*')) if (each.shadowRoot) roots.push(each.shadowRoot);
    }
    return roots;
  };

  const hasDecoration = element => ['::before', '::after'].some(
    part => !['none', 'normal', '""'].includes(getComputedStyle(element, part).content));
  const isPlain = element => !hasDecoration(element) && element.childElementCount === 0
    && getComputedStyle(element).textTransform === 'none';
  const isShown = element => element.checkVisibility({ visibilityProperty: true })
    && !element.closest('[aria-hidden=true]');
  const labelsOf = element => Array.from(element.labels || []);
  const hasPlainLabels = element => labelsOf(element).length === 1 && labelsOf(element).every(
    label => !hasDecoration(label) && Array.from(label.children).every(child => child === element)
      && (!label.contains(element) || element.localName !== 'select'));
  // Whether its accessible name is unambiguous.
  const hasPlainName = element => {
    if (!isShown(element) || element.getRootNode() !== document || element.hasAttribute('aria-labelledby')) return false;
    if (squeeze(element.getAttribute('aria-label'))) return true;
    if (labelsOf(element).length) return hasPlainLabels(element);
    return !isField(element) && isPlain(element);
  };

  // State of one search: the roots to count in, and the selectors that match uniquely.
  const search = element => {
    const roots = rootsOf();
    const found = [];
    const deep = css => roots.flatMap(root => Array.from(root.querySelectorAll(css)));
    const isOnly = all => all.length === 1 && all[0] === element;
    const add = (kind, selector, sure) => {
      if (!CONTROL.test(selector) && !found.some(each => each.selector === selector)) found.push({ kind, selector, sure });
    };
    const css = (kind, selector) => {
      try {
        if (isOnly(deep(selector))) add(kind, selector, true);
      } catch { /* not expressible in CSS */ }
    };
    return { roots, deep, isOnly, add, css, found };
  };

  const byRole = (element, { deep, isOnly, add }) => {
    const [[role, name]] = own.inspect([element], { names: true });
    if (!/^[a-z]+$/.test(role) || ['presentation', 'none'].includes(role) || !name || name.length > 120) return;
    if (element.type === 'password') return; // has no ARIA role
    const rivals = deep(`${OF_ROLE[role] || element.localName}, [role]`);
    const names = own.inspect(rivals, { names: true });
    const alike = rivals.filter((_, place) => names[place][0] === role && names[place][1] === name);
    if (isOnly(alike)) add('role', `role=${role}[name=${quoted(name)}s]`, hasPlainName(element));
  };

  const byLabel = (element, { deep, isOnly, add }) => {
    const texts = each => [squeeze(each.getAttribute('aria-label')), ...labelsOf(each).map(label => squeeze(label.textContent))];
    const text = texts(element).find(Boolean);
    if (!text || text.length > 120) return;
    const alike = deep(LABELLED).filter(each => texts(each).includes(text));
    if (isOnly(alike)) add('label', `internal:label=${quoted(text)}s`, hasPlainName(element));
  };

  const byText = (element, { deep, isOnly, add }) => {
    const text = squeeze(element.textContent);
    if (isField(element) || !text || text.length > 80 || NON_CONTENT.has(element.localName)) return;
    const alike = deep('*').filter(each => !NON_CONTENT.has(each.localName) && squeeze(each.textContent) === text
      && !Array.from(each.children).some(child => squeeze(child.textContent) === text));
    if (isOnly(alike)) add('text', `text=${quoted(text)}`, isShown(element) && isPlain(element));
  };

  // Simple selectors of an element, best first.
  const simpleSelectors = element => {
    const tag = CSS.escape(element.localName);
    const selectors = [];
    if (element.id && !isMade(element.id)) selectors.push(`#${CSS.escape(element.id)}`);
    const name = element.getAttribute('name');
    if (name) {
      const value = element.type === 'radio' || element.type === 'checkbox' ? element.getAttribute('value') : null;
      selectors.push(`${tag}${pair('name', name)}${value === null ? '' : pair('value', value)}`);
    }
    const data = element.getAttributeNames().filter(each => each.startsWith('data-') && !TEST_IDS.includes(each));
    for (const each of [...OTHERS, ...data]) {
      const value = element.getAttribute(each);
      if (value && value.length <= 120 && !/\d{6,}/.test(value)) selectors.push(tag + pair(each, value));
    }
    for (const each of element.classList) if (!isMade(each)) selectors.push(`${tag}.${CSS.escape(each)}`);
    selectors.push(tag);
    return selectors;
  };

  const anchorOf = element => {
    const test = TEST_IDS.find(name => element.getAttribute(name));
    if (test) return pair(test, element.getAttribute(test));
    return element.id && !isMade(element.id) ? `#${CSS.escape(element.id)}` : '';
  };

  // Inside a shadow root, a path starts at its host: `host >> inner`.
  const inRoot = (element, { found, add }, hostName) => {
    const root = element.getRootNode();
    const lead = hostName ? `${hostName} >> ` : '';
    const only = css => {
      const all = root.querySelectorAll(css);
      return all.length === 1 && all[0] === element;
    };
    const offer = (kind, css) => {
      if (only(css)) add(kind, lead + css, true);
    };
    for (let above = element.parentElement, steps = 0; above && steps < 8; above = above.parentElement, steps++) {
      const anchor = anchorOf(above);
      if (anchor) for (const css of simpleSelectors(element)) offer('css', `${anchor} ${css}`);
      if (found.length > 3) break;
    }
    if (lead && !found.length) for (const css of simpleSelectors(element)) offer('css', css);
    offer('place', pathOf(element));
  };

  const pathOf = element => {
    const steps = [];
    for (let node = element; node; node = node.parentElement) {
      const anchor = node === element ? '' : anchorOf(node);
      if (anchor) { steps.unshift(anchor); break; }
      const tag = CSS.escape(node.localName);
      const alike = Array.from(node.parentNode?.children || []).filter(each => each.localName === node.localName);
      steps.unshift(alike.length > 1 ? `${tag}:nth-of-type(${alike.indexOf(node) + 1})` : tag);
    }
    return steps.join(' > ');
  };

  // Returns candidates, best first: { kind, selector, sure }; kind `place` is a purely positional selector.
  recorder.name = element => {
    const all = search(element);
    for (const name of TEST_IDS) if (element.getAttribute(name)) all.css('test-id', pair(name, element.getAttribute(name)));
    byRole(element, all);
    byLabel(element, all);
    const placeholder = element.getAttribute('placeholder');
    if (placeholder) all.css('placeholder', `${element.localName}${pair('placeholder', placeholder)}`);
    byText(element, all);
    for (const css of simpleSelectors(element)) {
      const kind = css.startsWith('#') ? 'id' : css.includes('[name=') ? 'name' : 'css';
      all.css(kind, css);
    }
    const host = element.getRootNode().host;
    const hostName = host ? recorder.name(host).find(each => each.sure)?.selector : '';
    if (host ? hostName : true) inRoot(element, all, hostName);
    return all.found.slice(0, 9).concat(all.found.slice(9).filter(each => each.kind === 'place'));
  };

  // Keys identify elements, so that two references can be compared.
  const keys = new WeakMap();
  let count = 0;
  recorder.keyOf = element => {
    if (!keys.has(element)) keys.set(element, `${performance.timeOrigin}:${count++}`);
    return keys.get(element);
  };
  recorder.describe = element => ({
    key: recorder.keyOf(element),
    names: recorder.name(element),
    identity: own.inspect([element], { visible: false, enabled: false }).identity,
  });
}
