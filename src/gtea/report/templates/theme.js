"use strict";
// Light, dark and print, on every page with a script. It stands before the script of the page.
(() => {
  const root = document.documentElement, themes = ["auto", "light", "dark"], button = document.querySelector("#theme");
  let theme = 0;
  const dress = number => {
    theme = number;
    if (number) root.dataset.theme = themes[number]; else delete root.dataset.theme;
    button.textContent = `Theme: ${themes[number]}`;
  };
  // A browser may refuse storage to a file: the theme then lasts as long as the page.
  const remembered = () => { try { return themes.indexOf(localStorage.getItem("gtea-theme")); } catch { return 0; } };
  dress(Math.max(0, remembered()));
  button.addEventListener("click", () => {
    dress((theme + 1) % 3);
    try { localStorage.setItem("gtea-theme", themes[theme]); } catch { return; }
  });
  document.querySelector("#print").addEventListener("click", () => print());
})();
