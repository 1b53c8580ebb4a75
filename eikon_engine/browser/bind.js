// Given all elements that a selector matches: how many, what the first is, and whether it can be acted upon.
// One round trip answers everything that binding asks.
(elements, wanted) => {
  const squeeze = text => (text || '').replace(/\s+/g, ' ').trim();
  const ROLES = {
    A: e => (e.hasAttribute('href') ? 'link' : ''), ARTICLE: 'article', ASIDE: 'complementary', BUTTON: 'button',
    DETAILS: 'group', DIALOG: 'dialog', FIELDSET: 'group', FIGURE: 'figure', FOOTER: 'contentinfo', FORM: 'form',
    H1: 'heading', H2: 'heading', H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', HEADER: 'banner',
    HR: 'separator', IMG: e => (e.getAttribute('alt') === '' ? 'presentation' : 'img'), LI: 'listitem', MAIN: 'main',
    NAV: 'navigation', OL: 'list', OPTION: 'option', PROGRESS: 'progressbar', SECTION: '', TABLE: 'table',
    TBODY: 'rowgroup', TD: 'cell', TEXTAREA: 'textbox', TH: 'columnheader', THEAD: 'rowgroup', TR: 'row', UL: 'list',
    SELECT: e => (e.multiple || e.size > 1 ? 'listbox' : 'combobox'),
    INPUT: e => ({
      button: 'button', checkbox: 'checkbox', image: 'button', number: 'spinbutton', radio: 'radio', range: 'slider',
      reset: 'button', search: 'searchbox', submit: 'button', hidden: '', file: '', color: '', date: '', time: '',
    })[e.type] ?? 'textbox',
  };
  const NAMED_BY_CONTENT = new Set([
    'button', 'cell', 'checkbox', 'columnheader', 'heading', 'link', 'menuitem', 'option', 'radio', 'row', 'switch',
    'tab', 'treeitem',
  ]);
  const roleOf = element => {
    const explicit = squeeze(element.getAttribute('role')).split(' ')[0];
    if (explicit) return explicit;
    const implied = ROLES[element.tagName];
    return typeof implied === 'function' ? implied(element) : implied || '';
  };
  const nameOf = (element, role) => {
    const labelledBy = squeeze(element.getAttribute('aria-labelledby'));
    if (labelledBy) {
      const root = element.getRootNode();
      return squeeze(labelledBy.split(' ').map(id => root.getElementById(id)?.textContent || '').join(' '));
    }
    const label = squeeze(element.getAttribute('aria-label'));
    if (label) return label;
    if (element.labels?.length) return squeeze(Array.from(element.labels, each => each.textContent).join(' '));
    if (element.tagName === 'INPUT' && ['button', 'submit', 'reset'].includes(element.type)) return squeeze(element.value);
    if (element.hasAttribute('alt')) return squeeze(element.getAttribute('alt'));
    if (NAMED_BY_CONTENT.has(role)) {
      const text = squeeze(element.textContent);
      if (text) return text.slice(0, 200);
      const image = element.querySelector('img[alt]');
      if (image) return squeeze(image.getAttribute('alt'));
    }
    return squeeze(element.getAttribute('title') || element.getAttribute('placeholder'));
  };
  const textOf = element =>
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(element.tagName) ? '' : squeeze(element.textContent).slice(0, 200);
  const describe = element => {
    const role = roleOf(element);
    const id = element.id ? '#' + element.id : '';
    const label = nameOf(element, role) || textOf(element);
    return `<${element.localName}${id}>${label ? ' ' + JSON.stringify(label.slice(0, 60)) : ''}`;
  };
  const STABLE = ['action', 'alt', 'data-id', 'data-test', 'data-testid', 'for', 'formaction', 'href', 'id', 'method',
    'name', 'placeholder', 'role', 'src', 'target', 'title', 'type'];
  const identityOf = element => {
    const role = roleOf(element);
    const text = textOf(element);
    const ancestors = [];
    for (let node = element.parentNode || element.host; node && ancestors.length < 5; node = node.parentNode || node.host) {
      if (node.nodeType === 1) ancestors.push({ tag: node.localName, id: node.id || '', role: roleOf(node) });
    }
    const alike = Array.from(element.getRootNode().querySelectorAll(element.localName.replace(/[^\w-]/g, '\\$&')));
    const box = element.getBoundingClientRect();
    return {
      tag: element.localName, role, name: nameOf(element, role), text,
      attributes: STABLE.filter(name => element.hasAttribute(name)).map(name => [name, element.getAttribute(name)]),
      ancestors,
      ordinal: Math.max(0, alike.filter(each => textOf(each) === text).indexOf(element)),
      box: { x: box.x, y: box.y, width: box.width, height: box.height },
    };
  };
  const isVisible = element => {
    const box = element.getBoundingClientRect();
    if (getComputedStyle(element).display === 'contents') return element.checkVisibility();
    return box.width > 0 && box.height > 0 && element.checkVisibility({ visibilityProperty: true });
  };
  const coveredBy = (element, position) => {
    if (element.scrollIntoViewIfNeeded) element.scrollIntoViewIfNeeded(true);
    const box = element.getClientRects()[0] || element.getBoundingClientRect();
    const x = box.x + (position ? position.x : box.width / 2);
    const y = box.y + (position ? position.y : box.height / 2);
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (!hit) return 'nothing: it lies outside the viewport';
    const labels = new Set(element.labels || []);
    for (let node = hit; node; node = node.assignedSlot || node.parentNode || node.host) {
      if (node === element || labels.has(node)) return '';
    }
    return describe(hit);
  };
  const obstacleOf = element => {
    if (wanted.visible && !isVisible(element)) return 'hidden';
    const disabled = element.matches(':disabled') || !!element.closest('[aria-disabled=true]');
    if (wanted.enabled && disabled) return 'disabled';
    if (wanted.editable && (element.readOnly || element.getAttribute('aria-readonly') === 'true')) return 'read-only';
    if (wanted.pointer) {
      const cover = coveredBy(element, wanted.position);
      if (cover) return `covered by ${cover}`;
    }
    return '';
  };
  const first = elements[0];
  return {
    count: elements.length,
    matches: elements.slice(0, 5).map(describe),
    identity: elements.length === 1 ? identityOf(first) : null,
    obstacle: elements.length === 1 ? obstacleOf(first) : '',
    visible: elements.length === 1 && isVisible(first),
    text: elements.length === 1 ? squeeze(first.innerText ?? first.textContent) : '',
    state: elements.length === 1 ? {
      value: first.type === 'password' ? null
        : first.multiple && first.selectedOptions ? JSON.stringify(Array.from(first.selectedOptions, each => each.value))
        : typeof first.value === 'string' ? first.value : null,
      checked: ['checkbox', 'radio'].includes(first.type) ? first.checked : null,
    } : null,
  };
}
