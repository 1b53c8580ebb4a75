// Inspects all elements that a selector matches: their number, what the first one is, and whether it is actionable. One
// round trip answers everything that binding needs.
(elements, inspection) => {
  // <img name="querySelectorAll"> hides the document's own.
  const queryAll = (root, selector) =>
    (root === document ? Document.prototype.querySelectorAll.call(root, selector) : root.querySelectorAll(selector));
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
  const parentOf = element => {
    let node = element;
    do node = node.parentNode || node.host; while (node && node.nodeType !== 1);
    return node;
  };
  const MAX_ANCESTORS = 5;
  const identityOf = element => {
    const role = roleOf(element);
    const text = textOf(element);
    const ancestors = [];
    for (let node = parentOf(element); node && ancestors.length < MAX_ANCESTORS; node = parentOf(node)) {
      ancestors.push({ tag: node.localName, id: node.id || '', role: roleOf(node) });
    }
    const ofTag = Array.from(queryAll(element.getRootNode(), element.localName.replace(/[^\w-]/g, '\\$&')));
    const ofText = ofTag.filter(each => textOf(each) === text);
    const ordinal = Math.max(0, ofText.indexOf(element));
    const isAlike = other => {
      let node = roleOf(other) === role ? parentOf(other) : null;
      for (const each of ancestors) {
        if (node?.localName !== each.tag || roleOf(node) !== each.role) return false;
        node = parentOf(node);
      }
      return ancestors.length === MAX_ANCESTORS || !node;
    };
    const box = element.getBoundingClientRect();
    return {
      tag: element.localName, role, name: nameOf(element, role), text,
      attributes: STABLE.filter(name => element.hasAttribute(name)).map(name => [name, element.getAttribute(name)]),
      ancestors,
      ordinal, ordinal_of_kind: ofText.slice(0, ordinal).filter(isAlike).length,
      box: { x: box.x, y: box.y, width: box.width, height: box.height },
    };
  };
  const isVisible = element => {
    if (getComputedStyle(element).display === 'contents') {
      return Array.from(element.childNodes).some(child => {
        if (child.nodeType === 1) return isVisible(child);
        if (child.nodeType !== 3) return false;
        const range = document.createRange();
        range.selectNodeContents(child);
        return Array.from(range.getClientRects()).some(rect => rect.width > 0 && rect.height > 0);
      });
    }
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && element.checkVisibility({ visibilityProperty: true });
  };
  // Where a pointer goes: to `position` within the border, else to the middle of the visible part.
  const pointOf = (element, position) => {
    if (position) {
      const box = element.getBoundingClientRect();
      return { x: box.x + element.clientLeft + position.x, y: box.y + element.clientTop + position.y };
    }
    const range = document.createRange();
    range.selectNodeContents(element);
    const boxless = getComputedStyle(element).display === 'contents';
    for (const rect of (boxless ? range : element).getClientRects()) {
      const left = Math.max(0, rect.left), right = Math.min(innerWidth, rect.right);
      const top = Math.max(0, rect.top), bottom = Math.min(innerHeight, rect.bottom);
      if (right > left && bottom > top && (right - left) * (bottom - top) > 0.99) {
        return { x: (left + right) / 2, y: (top + bottom) / 2 };
      }
    }
    return null;
  };
  const outside = point => !point || point.x < 0 || point.y < 0 || point.x >= innerWidth || point.y >= innerHeight;
  let isScrolled = false;
  const placeOf = element => { const { x, y } = element.getBoundingClientRect(); return `${x} ${y}`; };
  const scrolledPoint = (element, position) => {
    const before = placeOf(element);
    try {
      return pointInView(element, position);
    } finally {
      isScrolled = placeOf(element) !== before;
    }
  };
  const pointInView = (element, position) => {
    element.scrollIntoViewIfNeeded?.(true);
    const point = pointOf(element, position);
    if (!point || !outside(point)) return point;
    scrollBy({ left: point.x - innerWidth / 2, top: point.y - innerHeight / 2, behavior: 'instant' });
    return pointOf(element, position);
  };
  const coveredBy = (element, { x, y }) => {
    let hit = Document.prototype.elementFromPoint.call(document, x, y);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (!hit) return 'nothing that can be hit';
    // Text inside a button or link counts as the button or link, as in Playwright.
    const edited = element.matches('input, textarea, select') || element.isContentEditable;
    const whole = edited ? element : element.closest('button, [role=button], a, [role=link]') || element;
    for (let node = hit; node; node = node.assignedSlot || node.parentNode || node.host) {
      if (node === whole) return '';
    }
    return describe(hit);
  };
  // A label counts as its control, and a button's content as the button: Playwright waits for their state.
  const controlOf = element => {
    const own = 'a, input, textarea, button, select, option, optgroup, [role=link], [role=button], [role=checkbox], [role=radio]';
    if (element.matches('input, textarea, select') || element.isContentEditable) return element;
    const whole = element.closest('button, [role=button], [role=checkbox], [role=radio]') || element;
    return whole.matches(own) ? whole : whole.closest('label')?.control || whole;
  };
  const isDisabled = element => {
    if (element.matches(':disabled')) return true;
    for (let node = element; node; node = node.assignedSlot || node.parentNode || node.host) {
      const word = node.nodeType === 1 ? (node.getAttribute('aria-disabled') || '').toLowerCase() : '';
      if (word) return word === 'true';
    }
    return false;
  };
  const obstacleOf = element => {
    if (inspection.visible && !isVisible(element)) return 'hidden';
    if (inspection.rendered && !element.getClientRects().length) return 'not rendered';
    const control = controlOf(element);
    if (inspection.enabled && isDisabled(control)) return 'disabled';
    if (inspection.editable && (control.readOnly || control.getAttribute('aria-readonly') === 'true')) return 'read-only';
    if (inspection.pointer) {
      point = scrolledPoint(element, inspection.position);
      if (outside(point)) return 'outside of the viewport, also after scrolling';
      const cover = inspection.mayBeCovered ? '' : coveredBy(element, point);
      if (cover) return `covered by ${cover}`;
    }
    return '';
  };
  if (inspection.identities) return elements.map(identityOf);
  if (inspection.names) return elements.map(each => { const role = roleOf(each); return [role, nameOf(each, role)]; });
  if (inspection.every) {
    let [high, low] = [0xdeadbeef, 0x41c6ce57];
    for (const each of elements) {
      const form = each.type === 'password' ? null : [each.value, each.checked, each.selectedIndex];
      const text = JSON.stringify([each.outerHTML, form, isVisible(each)]);
      for (let place = 0; place < text.length; place++) {
        high = Math.imul(high ^ text.charCodeAt(place), 2654435761);
        low = Math.imul(low ^ text.charCodeAt(place), 1597334677);
      }
    }
    const boxOf = each => { const { x, y, width, height } = each.getBoundingClientRect(); return [x, y, width, height]; };
    const shown = elements.slice(0, inspection.every)
      .map(each => ({ description: describe(each), visible: isVisible(each), box: boxOf(each) }));
    return { count: elements.length, shown, digest: `${high >>> 0}.${low >>> 0}` };
  }
  let point = null;
  const first = elements[0];
  return {
    count: elements.length,
    matches: elements.slice(0, 5).map(describe),
    identity: elements.length === 1 ? identityOf(first) : null,
    obstacle: elements.length === 1 ? obstacleOf(first) : '',
    point,
    scrolled: isScrolled,
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
