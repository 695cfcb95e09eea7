// What a person would say is open: path, title, main heading. Evaluated in a world of its own, so
// that the page's scripts have no hand in it. Our own marks on the page are no part of it.
(() => {
  const ours = element => element.closest('[data-webmcp-agent-ui]');
  const seen = element =>
    !element.checkVisibility ||
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const plain = text => (text || '').replace(/\s+/g, ' ').trim();
  const first = selector =>
    [...document.querySelectorAll(selector)].find(
      element => !ours(element) && seen(element) && plain(element.textContent),
    );
  const heading =
    first('main h1, [role=main] h1') || first('h1, [role=heading][aria-level="1"]');
  return {
    path: location.pathname,
    title: plain(document.title),
    h1: heading ? plain(heading.textContent) : null,
  };
})()
