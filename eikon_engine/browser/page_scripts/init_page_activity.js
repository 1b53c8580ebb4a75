// Runs in every document before its own scripts: lets the driver query whether a document is idle.
(() => {
  const own = window.__eikon__, { guard } = own;
  // Last pointer position: an element that moved under it is notified with the next frame, at no deterministic time.
  let pointer = null, doubted = null, doubts = 0;
  window.addEventListener('pointermove', event => { pointer = [event.clientX, event.clientY]; }, true);
  window.addEventListener('pointerout', event => { if (!event.relatedTarget) pointer = null; }, true);
  const isPointerStale = () => {
    if (!pointer) return false;
    let hit = own.ofDocument('elementFromPoint', ...pointer);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(...pointer);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (hit === null || hit.matches(':hover')) return false;
    doubts = hit === doubted ? doubts + 1 : 1;
    doubted = hit;
    return doubts <= 3; // an element not notified within three frames never is
  };

  // A window that closes itself still answers for a while; one that may not close is waited for like any other. While
  // recording, it closes once its responses have been read.
  if (!('isHeld' in own)) { // the first document of a popup shares its window with the next one
    own.isHeld = false;
    window.close = new Proxy(window.close, {
      apply(native, self, values) {
        const closes = window === window.top && (window.opener || history.length < 2);
        if (closes) own.leaving = true;
        if (own.isHeld) return;
        if (!closes || !own.holdClosing) return Reflect.apply(native, self, values);
        own.isHeld = true;
        const close = () => {
          own.isHeld = false;
          Reflect.apply(native, self, values);
        };
        own.holdClosing().then(close, close);
      },
    });
    const closed = Object.getOwnPropertyDescriptor(window, 'closed');
    const get = closed && new Proxy(closed.get, {
      apply: (native, self, values) => own.isHeld || Reflect.apply(native, self, values),
    });
    if (closed?.configurable) Object.defineProperty(window, 'closed', { ...closed, get });
  }

  // Animations have a clock of their own, which nothing can step: finish them now, with their events, or pause them.
  const stopAnimations = () => {
    const moving = own.endAnimations?.() ?? 0;
    for (const each of own.ofDocument('getElementsByTagName', 'svg')) {
      if (each.animationsPaused && !each.animationsPaused()) { each.pauseAnimations(); each.setCurrentTime(0); }
    }
    return !moving;
  };

  // Milliseconds of page time to the next timer of this document; 0 if unknown, as with workers.
  const never = 1e12;
  own.nextTimer = guard(() => (own.workerCount?.() ? 0 : nextOwnTimer()));
  const nextOwnTimer = () => {
    const clock = window.__pwClock?.controller;
    if (!(clock?._timers instanceof Map)) return 0;
    let next = never;
    for (const each of clock._timers.values()) next = Math.min(next, each.callAt - clock._now.ticks);
    return Math.max(0, next);
  };

  // Runs the timers until a time, where the driver cannot: its code in the page fails before it reaches the clock.
  const clock = window.__pwClock?.controller;
  for (const name of clock ? ['_callFirstTimer', '_firstTimer', '_runTo', 'addTimer', 'clearTimer'] : []) {
    clock[name] = own.guardHook(clock[name]);
  }
  const replayLog = clock && guard(clock._replayLogOnce);
  if (clock) clock._replayLogOnce = () => { if (clock._log.length) Reflect.apply(replayLog, clock, []); };
  own.runClockTo = guard(time => {
    const left = clock ? time - clock.now() : 0;
    return left > 0 ? clock.runFor(left) : null;
  });

  // Returns: loading or unloading, animating, number of pending fetches, opening sockets and other work, number of
  // workers, next timer.
  own.activity = guard(() => {
    const moves = !stopAnimations() || isPointerStale();
    const loaded = own.ofDocument('readyState') === 'complete' || own.ignoredDocument === document;
    const stays = !own.leaving || own.leaving.defaultPrevented;
    const fetching = Math.max(0, (own.pending || 0) - (own.unanswered || 0));
    const pending = fetching + (own.openingSockets?.() ?? 0) + (own.working?.() ?? 0);
    const seen = [loaded && stays ? 0 : 1, moves ? 1 : 0, pending, own.workerCount?.() ?? 0, own.nextTimer()];
    if (!seen[3]) return seen;
    return own.settleWorkers().then(guard(({ fetches, untilTimer }) => {
      const loading = seen[0] || (own.ignoredDocument !== document && own.hasStartingWorkers() ? 1 : 0);
      return [loading, seen[1], pending + fetches, seen[3], Math.min(nextOwnTimer(), untilTimer)];
    }));
  });

  // The same from two looks, with what scripts do in between: the second one sees what the first one triggered. Takes
  // what is busier of both, and the timers of the second.
  const later = window.__pwClock?.builtins?.setTimeout ?? window.setTimeout;
  const turn = guard(() => new Promise(resolve => Reflect.apply(later, window, [resolve, 1])));
  let hasTimers = false; // none ever fires in a sandbox without scripts
  turn().then(() => { hasTimers = true; });
  // Resolves after the next frame, and what observers of it do; a page that is not rendered has none.
  const { Animation, KeyframeEffect } = window;
  const RENDER_MS = 3000;
  const wholeFrame = guard(() => new Promise(painted => {
    const frame = new Animation(new KeyframeEffect(null, [], 1));
    frame.onfinish = painted;
    frame.play();
    frame.finish();
  }));
  const tooLate = guard(() => new Promise(resolve => Reflect.apply(later, window, [resolve, RENDER_MS])));
  own.nextFrame = guard(() => (hasTimers ? Promise.race([wholeFrame().then(turn).then(turn), tooLate()]) : null));
  const lookAgain = guard(first => {
    if (first[1] || !hasTimers) return first;
    const busier = guard(second => [...[0, 1, 2].map(part => Math.max(first[part], second[part])), second[3], second[4]]);
    return turn().then(turn).then(own.activity).then(busier);
  });
  own.activityTwice = guard(() => Promise.resolve(own.activity()).then(lookAgain));

  // The state of this document and all its frames; null if one is out of reach.
  const { get: count } = Object.getOwnPropertyDescriptor(window, 'length');
  own.tree = guard(() => {
    const all = [own];
    try {
      for (let place = 0; place < Reflect.apply(count, window, []); place++) all.push(...window[place].__eikon__.tree());
    } catch {
      return null;
    }
    return all;
  });

  // What is known of a document whose timers no longer fire: idle once it is removed, loading once another one replaces it.
  own.leftAs = guard(() => {
    try {
      return window.closed ? [0, 0, 0, 0, never] : window.document === document ? null : [1, 0, 0, 0, 0];
    } catch {
      return [1, 0, 0, 0, 0]; // the next document is of another origin
    }
  });
  // Resolves with what a document answers, or what is known of it once it is left.
  const orLeft = guard((own, answer) => {
    let isAnswered = false;
    const wait = guard(() => isAnswered || (own.leftAs() ?? turn().then(wait)));
    const answered = guard(activity => { isAnswered = true; return activity; });
    return answer.then ? Promise.race([answer.then(answered), turn().then(wait)]) : answer;
  });

  // The sum over this many documents, with the first of their timers; null, without querying any, if there are more or
  // fewer. A query is not repeated: the animations that it finished would be missing from the second result.
  own.activityOfTree = guard((documents, look) => {
    const all = own.tree();
    if (all?.length !== documents) return null;
    return Promise.all(all.map(each => orLeft(each, each[look]()))).then(guard(activities => {
      const sums = [0, 1, 2, 3].map(part => activities.reduce((sum, each) => sum + each[part], 0));
      return [...sums, activities.reduce((next, each) => Math.min(next, each[4]), never)];
    }));
  });
})();
