import { count, increase, reset as clear } from "./counter.js";
import "./style.css";

const show = () => (document.querySelector("#shown").textContent = `Count: ${count()}`);
document.querySelector("#add").onclick = async () => {
  increase();
  const { line } = await import("./log.js");
  document.querySelector("#log").append(line(count()));
  show();
};
document.querySelector("#reset").onclick = () => (clear(), show());
show();
