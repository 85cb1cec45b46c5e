// The ranks of search results: pages for users precede pages for contributors, as one word counts alike in all.
// Sphinx puts this file (html_search_scorer) in place of its own Scorer, whose other numbers are kept.
const PLACES = [
  [/^(tutorials|howto)\//, 10],
  [/^(index|overview|explanation\/)/, 5],
  [/^reference\/generated\//, -3],
  [/^(dev\/|contributing|security)/, -30],
  [/^(decisions\/|changelog|errors$)/, -60],
];

var Scorer = {
  score: ([page, title, , , score, , kind]) => {
    const place = PLACES.find(([pattern]) => pattern.test(page));
    const depth = kind === "object" ? title.split(".").length : 0; // xp.vmap precedes xp.functional.vmap
    return score + (place ? place[1] : 0) - depth;
  },
  objNameMatch: 40, // above each title: a search for "exp" asks for the function
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
