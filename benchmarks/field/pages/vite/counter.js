let value = Number(sessionStorage.getItem("count"));
const keep = () => sessionStorage.setItem("count", value);
export const count = () => value;
export const increase = () => (value++, keep());
export const reset = () => ((value = 0), keep());
