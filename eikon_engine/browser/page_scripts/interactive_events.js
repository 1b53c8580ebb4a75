// Reports what a person does: trusted events only, each before it takes effect where possible.
(recorder, own, report) => {
  const TYPED = ':is(input:not([type=checkbox i], [type=radio i], [type=file i], [type=submit i], [type=button i],'
    + ' [type=reset i], [type=image i], [type=hidden i]), textarea)';
  const ACTIVE = 'button, a[href], area[href], input, select, textarea, summary, option, label, [role=button], [role=link],'
    + ' [role=checkbox], [role=radio], [role=switch], [role=tab], [role=menuitem], [role=menuitemcheckbox],'
    + ' [role=menuitemradio], [role=option], [role=treeitem], [role=slider]';
  const DRAWN = 'canvas, svg, video, img[usemap], input[type=image i]';
  const MOVED = 8; // CSS pixels a press must move to become a drag
  const WHEEL_MS = 600; // a scroll within this time after a wheel event is the person's
  const setTimer = window.setTimeout.bind(window), clearTimer = window.clearTimeout.bind(window);
  const now = performance.now.bind(performance);

  const isTyped = element => element.matches(TYPED) || element.isContentEditable;
  const isPlainField = element => isTyped(element) && !element.readOnly && !element.hasAttribute('list')
    && !element.hasAttribute('aria-haspopup') && element.getAttribute('role') !== 'combobox';
  const fieldOf = element => {
    let field = element;
    while (field.isContentEditable && field.parentElement?.isContentEditable) field = field.parentElement;
    return field;
  };
  const valueOf = element => (element.isContentEditable ? element.innerText : element.value);
  const elementsOf = event => event.composedPath().filter(node => node.nodeType === 1);
  // The element a person acts on: the control around an icon, else the element itself.
  const actionTarget = path => {
    const first = path[0];
    if (!first || first.matches('html')) return first;
    if (first.isContentEditable) return fieldOf(first);
    return path.find(each => each.matches(ACTIVE)) || first;
  };
  const pathTo = element => {
    const path = [];
    for (let node = element; node; node = node.assignedSlot || node.parentNode || node.host) if (node.nodeType === 1) path.push(node);
    return path;
  };
  const hitAt = (x, y, inside = null) => {
    const outer = document.elementsFromPoint(x, y).filter(each => !recorder.isBar(each) && !inside?.contains(each));
    let hit = outer[0] || null;
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit || inside?.contains(inner)) break;
      hit = inner;
    }
    return hit;
  };
  const within = (element, { clientX, clientY }) => {
    const box = element.getBoundingClientRect();
    const round = value => Math.round(value * 10) / 10;
    return { x: round(clientX - box.x - element.clientLeft), y: round(clientY - box.y - element.clientTop) };
  };
  // Offset of the hit in the element; null where a hit at its centre has the same effect.
  const hitOffset = (element, event) => {
    const box = element.getClientRects()[0];
    if (!box) return null;
    const left = Math.max(0, box.left), right = Math.min(innerWidth, box.right);
    const top = Math.max(0, box.top), bottom = Math.min(innerHeight, box.bottom);
    const middle = hitAt((left + right) / 2, (top + bottom) / 2);
    if (middle && !element.matches(DRAWN) && actionTarget(pathTo(middle)) === element) return null;
    return within(element, event);
  };
  const modifiersOf = event => ['Alt', 'Control', 'Meta', 'Shift'].filter(name => event.getModifierState(name));
  const toggles = element => element.matches('input[type=checkbox i], input[type=radio i]');
  const canBeHit = element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && hitAt(box.x + box.width / 2, box.y + box.height / 2) === element
      && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  };

  let down = null, known = null, keyedAt = -Infinity, wheelAt = -Infinity, labelled = null;
  // The element as it was before the event changed it.
  const describe = element => {
    if (down?.element === element) return down.target;
    if (known?.element !== element) known = { element, target: recorder.describe(element) };
    return known.target;
  };

  const onDown = event => {
    known = null;
    down = null;
    if (event.button !== 0 || !event.isPrimary) return;
    const element = actionTarget(elementsOf(event));
    if (!element || element.matches('select, option, input[type=file i]')) return;
    const target = recorder.describe(element);
    const box = element.getBoundingClientRect();
    down = {
      element, target, x: event.clientX, y: event.clientY, box, position: hitOffset(element, event),
      at: within(element, event), modifiers: modifiersOf(event),
    };
    report({ kind: 'down', target, is_plain: isPlainField(element) });
  };
  const onUp = event => {
    const press = down;
    if (!press || event.button !== 0) return;
    const hasMoved = Math.hypot(event.clientX - press.x, event.clientY - press.y) > MOVED;
    const isKnob = press.element.matches('[role=slider]') || !press.element.matches(ACTIVE);
    press.isDrag = hasMoved && isKnob && !isTyped(press.element) && !getSelection().toString().trim();
    const drop = press.isDrag ? dropOf(press, event) : null;
    setTimer(() => {
      if (drop) report(drop);
      else if (!press.wasClicked) {
        // No click event: the press ended elsewhere, or the element was removed before the button was released.
        const gone = !hasMoved && !press.element.isConnected;
        report(gone ? clickOf(press, 1) : { kind: 'cancel' });
      }
    }, 0);
  };
  const dropOf = (press, event) => {
    const box = press.element.getBoundingClientRect();
    const isUnmoved = Math.abs(box.x - press.box.x) + Math.abs(box.y - press.box.y) < 1;
    const onto = isUnmoved && press.element.contains(hitAt(event.clientX, event.clientY))
      ? press.element : hitAt(event.clientX, event.clientY, press.element) || document.documentElement;
    return {
      kind: 'drag', target: press.target, position: press.at,
      second: onto === press.element ? press.target : recorder.describe(onto), second_position: within(onto, event),
    };
  };
  const clickOf = (press, detail) => ({
    kind: 'click', target: press.target, detail, position: press.position, modifiers: press.modifiers,
    is_plain: isPlainField(press.element),
  });

  const onClick = event => {
    if (event.button !== 0) return;
    const path = elementsOf(event);
    const element = actionTarget(path);
    if (!element) return;
    if (down) down.wasClicked = true;
    if (down?.isDrag || element.matches('select, option, input[type=file i]')) return;
    if (toggles(element)) {
      const from = labelled;
      labelled = null;
      if (from?.control === element) from.isDone = true;
      else if (!event.detail && now() - keyedAt < 1000) return;
      report({ kind: 'check', target: describe(element), is_checked: element.checked });
      return;
    }
    if (!event.detail && (now() - keyedAt < 1000 || labelled?.control === element)) return; // caused by a key or a label
    const hit = down?.element === element ? down
      : { element, target: describe(element), position: hitOffset(element, event), modifiers: modifiersOf(event) };
    const label = element.localName === 'label' ? element : null;
    if (label?.control && toggles(label.control) && canBeHit(label.control) && !label.control.disabled) {
      const press = labelled = { control: label.control, isDone: false };
      describe(label.control);
      setTimer(() => { if (!press.isDone) report(clickOf(hit, event.detail)); }, 0);
      return;
    }
    if (label?.control) labelled = { control: label.control };
    report(clickOf(hit, event.detail || 1));
  };
  const onOther = event => {
    if (event.button === 1) report(otherClick(event, 'middle'));
  };
  const onMenu = event => {
    const click = otherClick(event, 'right');
    setTimer(() => { if (event.defaultPrevented) report(click); }, 0); // otherwise it is the browser's own menu
  };
  const otherClick = (event, button) => {
    const element = actionTarget(elementsOf(event));
    return {
      kind: 'click', target: recorder.describe(element), button, position: hitOffset(element, event), modifiers: modifiersOf(event),
    };
  };

  const onDragStart = event => {
    const element = elementsOf(event)[0];
    if (!element) return;
    const target = down?.element === element ? down.target : recorder.describe(element);
    down = { element, target, at: within(element, event), isNative: true, wasClicked: true };
  };
  const onDrop = event => {
    if (!down?.isNative) return; // dragged from another document or application
    const element = elementsOf(event)[0];
    const target = recorder.describe(element);
    report({ kind: 'drag', target: down.target, position: down.at, second: target, second_position: within(element, event) });
    down.isDone = true;
  };
  const onDragEnd = () => {
    if (down?.isNative && !down.isDone) report({ kind: 'cancel' });
    down = null;
  };

  const onInput = event => {
    const element = elementsOf(event)[0];
    if (!element || element.matches('input[type=checkbox i], input[type=radio i]')) return;
    if (element.matches('select')) {
      const values = Array.from(element.selectedOptions, option => option.value);
      report({ kind: 'select', target: describe(element), values });
    } else if (element.matches('input[type=file i]')) {
      reportFiles(element);
    } else if (isTyped(element)) {
      const field = fieldOf(element);
      report({
        kind: 'input', target: describe(field), text: valueOf(field), is_secret: field.type === 'password',
        is_plain: isPlainField(field),
      });
    } else {
      report({ kind: 'lost', text: 'typing inside a closed shadow root is not visible to scripts' });
    }
  };
  const reportFiles = element => {
    const target = describe(element);
    const read = file => new Promise((done, fail) => {
      const reader = new FileReader();
      reader.onload = () => done({ name: file.name, mime_type: file.type, content: reader.result.split(',')[1] || '' });
      reader.onerror = fail;
      reader.readAsDataURL(file);
    });
    report({ kind: 'upload', target });
    Promise.all(Array.from(element.files, read)).then(
      files => report({ kind: 'files', target, files }),
      () => report({ kind: 'lost', text: 'an uploaded file could not be read' }),
    );
  };

  const BROWSER_SHORTCUTS = [
    event => /^F(3|5|6|11|12)$/.test(event.key),
    event => event.altKey && ['ArrowLeft', 'ArrowRight', 'Home', 'd', 'F4'].includes(event.key),
    event => (event.ctrlKey || event.metaKey) && /^([lrtwnpfgjhuod+=0-9-]|Tab|PageUp|PageDown|F4|F5)$/i.test(event.key),
    event => (event.ctrlKey || event.metaKey) && event.shiftKey && /^[ijcbm]$/i.test(event.key),
  ];
  const NAMED = /^(Enter|Escape|Tab|Arrow\w+|Home|End|PageUp|PageDown|Insert|Delete|Backspace|F\d+)$/;
  const EDITS = /^(ArrowLeft|ArrowRight|Home|End|Delete|Backspace|Insert)$/;
  // Whether a key only edits the field, so that the value of the field shows its effect.
  const onlyEdits = (event, element) => {
    if (element.matches('select')) return !['Enter', 'Escape', 'Tab'].includes(event.key);
    if (!isTyped(element)) return false;
    if (element.matches('[type=range i], [type=number i], [type=date i], [type=time i]') && /^Arrow/.test(event.key)) return true;
    const isLong = element.localName === 'textarea' || element.isContentEditable;
    if (isLong && /^(Enter|Arrow\w+|PageUp|PageDown)$/.test(event.key)) return true;
    if (event.ctrlKey || event.metaKey) return /^[acvxyzAZ]$/.test(event.key) || EDITS.test(event.key);
    return EDITS.test(event.key) || event.key.length === 1;
  };
  const chordOf = event => {
    const isText = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    const plain = event.key === ' ' ? 'Space' : event.key;
    const name = plain.length > 1 || /^[\x21-\x7e]$/.test(plain) ? plain : event.code;
    return [...(isText ? [] : modifiersOf(event)), name].join('+');
  };
  const onKey = event => {
    if (event.ctrlKey && event.shiftKey && event.key === 'F9') { event.preventDefault(); report({ kind: 'finish' }); return; }
    if (event.ctrlKey && event.shiftKey && event.key === 'F8') {
      event.preventDefault();
      if (window === window.top) recorder.askForSubgoal();
      return;
    }
    if (event.isComposing || event.key === 'Process' || event.key === 'Dead') return;
    if (event.key.length > 1 && !NAMED.test(event.key)) return;
    const element = elementsOf(event)[0];
    if (event.key === 'Enter' || event.key === ' ') keyedAt = now();
    if (/^Arrow/.test(event.key)) keyedAt = now();
    const field = element ? fieldOf(element) : null;
    const isFree = !field || field === document.body || field === document.documentElement;
    const press = () => ({ kind: 'press', target: isFree ? null : describe(field), key: chordOf(event) });
    const isReportedIfHandled = BROWSER_SHORTCUTS.some(rule => rule(event)) || (field && onlyEdits(event, field));
    if (!isReportedIfHandled) {
      report(press());
      return;
    }
    if (field && isTyped(field)) describe(field);
    const keyPress = press();
    setTimer(() => { if (event.defaultPrevented) report(keyPress); }, 0); // the page handled the key itself
  };

  // Scroll offsets at the last event by element; the browser scrolls before it dispatches the wheel event.
  const offsets = new WeakMap();
  let changes = null, changed = false, scrolled = null;
  const currentOffset = scroller => [scroller.scrollLeft, scroller.scrollTop];
  const noteWheel = () => {
    wheelAt = now();
    if (changes) return;
    changed = false;
    changes = new MutationObserver(() => { changed = true; });
    changes.observe(document, { subtree: true, childList: true, characterData: true });
  };
  const onScroll = event => {
    const element = event.target === document ? document.scrollingElement : event.composedPath()[0];
    if (!element) return;
    if (now() - wheelAt > WHEEL_MS) { offsets.set(element, currentOffset(element)); return; }
    if (scrolled && scrolled.element !== element) reportScroll();
    if (!scrolled) {
      scrolled = { element, isDue: false };
      const target = element === document.scrollingElement ? null : recorder.describe(element);
      scrolled.target = target;
      reportScroll(true);
    }
    wheelAt = now();
    if (!scrolled.isDue) {
      const turn = scrolled;
      turn.isDue = true;
      setTimer(() => { turn.isDue = false; if (scrolled === turn) reportScroll(true); }, 100);
    }
    clearTimer(scrolled.end);
    scrolled.end = setTimer(() => reportScroll(), 400);
  };
  const reportScroll = continues => {
    if (!scrolled) return;
    const [x, y] = offsets.get(scrolled.element) || [0, 0], [left, top] = currentOffset(scrolled.element);
    offsets.set(scrolled.element, [left, top]);
    report({ kind: 'scroll', target: scrolled.target, dx: left - x, dy: top - y, is_changed: changed });
    if (continues) return;
    changes?.disconnect();
    changes = scrolled = null;
  };

  const HANDLERS = {
    pointerdown: onDown, pointerup: onUp, pointercancel: () => { if (down && !down.isNative) report({ kind: 'cancel' }); },
    click: onClick, dblclick: event => {
      const element = actionTarget(elementsOf(event));
      if (element) report({ kind: 'dblclick', target: describe(element), is_plain: isPlainField(element) });
    },
    auxclick: onOther, contextmenu: onMenu, dragstart: onDragStart, drop: onDrop, dragend: onDragEnd,
    beforeinput: event => { const [first] = elementsOf(event); if (first && isTyped(first)) describe(fieldOf(first)); },
    input: onInput, keydown: onKey, wheel: noteWheel, touchmove: noteWheel, scroll: onScroll,
  };
  const BAR_ONLY = [
    'mousedown', 'mouseup', 'pointermove', 'pointerover', 'pointerout', 'mousemove', 'mouseover', 'mouseout', 'keyup',
    'keypress', 'change', 'focusin', 'focusout', 'touchstart', 'touchend', 'selectstart',
  ];
  const dispatch = event => {
    if (scrolled && event.isTrusted && /^(pointerdown|keydown|click)$/.test(event.type)) reportScroll(); // it has ended
    if (recorder.isBar(event.target)) { recorder.takeBarEvent(event); return; }
    const act = HANDLERS[event.type];
    if (!act || !event.isTrusted) return;
    try {
      act(event);
    } catch (error) { // must not reach the page
      report({ kind: 'lost', text: `${event.type}: ${error}` });
    }
  };
  for (const kind of [...Object.keys(HANDLERS), ...BAR_ONLY]) {
    window.addEventListener(kind, dispatch, { capture: true, passive: kind !== 'keydown' });
  }
}
