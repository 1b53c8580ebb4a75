"use strict";

const feed = document.getElementById("news-list");
let nextPage = 2;
let loading = false;

async function loadMore() {
  if (loading || nextPage === null) return;
  if (window.innerHeight + window.scrollY < document.documentElement.scrollHeight - 200) return;
  loading = true;
  const answer = await (await fetch(`/api/news?page=${nextPage}`)).json();
  for (const item of answer.items) {
    const article = document.createElement("article");
    article.className = "news";
    article.dataset.number = String(item.number);
    const title = document.createElement("h2");
    const text = document.createElement("p");
    title.textContent = item.title;
    text.textContent = item.text;
    article.append(title, text);
    feed.append(article);
  }
  nextPage = answer.next;
  loading = false;
  document.getElementById("news-end").hidden = nextPage !== null;
}

window.addEventListener("scroll", loadMore);
