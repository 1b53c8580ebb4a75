// Tells of journeys through the history that a script asks for, before they begin: those are not the person's.
(told) => {
  const { apply } = Reflect;
  const watch = (prototype, names) => {
    for (const name of names) {
      const native = prototype?.[name];
      if (!native) continue;
      prototype[name] = new Proxy(native, {
        apply(target, self, args) {
          if (name !== 'go' || args[0]) told({ kind: 'script_travel' }); // `go(0)` reloads
          return apply(target, self, args);
        },
      });
    }
  };
  watch(History.prototype, ['back', 'forward', 'go']);
  watch(window.Navigation?.prototype, ['back', 'forward', 'traverseTo']);
}
