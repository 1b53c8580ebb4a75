module.exports = {
  uiHost: "127.0.0.1",
  flowFile: "flows.json",
  telemetry: { enabled: false, updateNotification: false },
  externalModules: { palette: { allowInstall: false } },
  editorTheme: { tours: false, projects: { enabled: false } },
};
