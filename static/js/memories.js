// The memory page: searches while one types. Without this the form asks the server.
const box = document.getElementById("memory-query");

function matches(element, words) {
  const text = element.dataset.memory.toLocaleLowerCase();
  return words.every((word) => text.includes(word));
}

function search() {
  const words = box.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const rest of document.querySelectorAll(".memory-rest")) rest.open = words.length > 0; // what is found is shown
  for (const section of document.querySelectorAll(".memory-kind")) {
    const here = [...section.querySelectorAll("[data-memory]")];
    for (const element of here) element.hidden = !matches(element, words);
    const left = here.filter((element) => !element.hidden).length;
    section.hidden = left === 0;
    shown += left;
  }
  const none = document.querySelector("[data-no-match]");
  none.hidden = shown > 0 || !document.querySelector(".memory-kind");
}

// What the server had filtered is shown whole again by the server only.
if (box && !new URLSearchParams(location.search).get("q")) {
  box.form.classList.add("is-live");
  box.addEventListener("input", search);
  box.form.addEventListener("submit", (event) => event.preventDefault());
}
