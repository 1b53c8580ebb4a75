// Reports history navigations requested by scripts before they start: those are not the person's.
(report) => {
  const { apply } = Reflect;
  const watch = (prototype, names) => {
    for (const name of names) {
      const native = prototype?.[name];
      if (!native) continue;
      prototype[name] = new Proxy(native, {
        apply(target, self, args) {
          if (name !== 'go' || args[0]) report({ kind: 'script_travel' }); // `go(0)` reloads
          return apply(target, self, args);
        },
      });
    }
  };
  watch(History.prototype, ['back', 'forward', 'go']);
  watch(window.Navigation?.prototype, ['back', 'forward', 'traverseTo']);
}
