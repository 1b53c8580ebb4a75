"use strict";

const byId = (id) => document.getElementById(id);
let token = "";
let live;

async function call(method, path, value) {
  const headers = { "Content-Type": "application/json", "X-Request-Id": crypto.randomUUID() };
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(path, { method, headers, body: value && JSON.stringify(value) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function cell(content) {
  const element = document.createElement("td");
  element.append(content);
  return element;
}

function row(service) {
  const element = document.createElement("tr");
  const button = document.createElement("button");
  button.textContent = "Deploy";
  button.setAttribute("aria-label", `Deploy ${service.name}`);
  button.addEventListener("click", () => deploy(service));
  element.append(
    cell(service.name), cell(service.version), cell(service.owner), cell(String(service.instances)), cell(button),
  );
  return element;
}

async function deploy(service) {
  let deployment = await call("POST", "/api/deployments", { service: service.name, version: byId("version").value });
  while (deployment.state === "pending") {
    byId("state").textContent = `${deployment.service} ${deployment.version} is pending.`;
    await new Promise((resolve) => setTimeout(resolve, 400));
    deployment = await call("GET", `/api/deployments/${deployment.id}`);
  }
  byId("state").textContent =
    `${deployment.service} ${deployment.version} is ${deployment.state} by ${deployment.reviewer}.`;
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const session = await call("POST", "/api/session", { user: byId("user").value });
  token = session.token;
  const begun = Date.now();
  setInterval(() => {
    byId("clock").textContent = `${session.user}, signed in for ${Math.floor((Date.now() - begun) / 1000)} s`;
  }, 250);
  byId("sign-in").hidden = true;
  byId("board").hidden = false;
  for (const service of (await call("GET", "/api/services")).services) byId("rows").append(row(service));
  live = new WebSocket(`ws://${location.host}/live?ticket=${token}`);
  live.addEventListener("message", (message) => {
    const event = JSON.parse(message.data);
    if (event.kind === "presence") byId("presence").textContent = event.text;
    if (event.kind !== "chat") return;
    const item = document.createElement("li");
    item.id = `message-${Math.random().toString(36).slice(2, 10)}`;
    item.textContent = event.text;
    byId("messages").append(item);
  });
});

byId("say").addEventListener("click", () => {
  live.send(JSON.stringify({ text: byId("chat").value, at: Date.now() }));
  byId("chat").value = "";
});
