// `work` as a function of which one runs at a time: asked for meanwhile, it runs once more, and whoever asked waits for that.
export function oneAtATime(work) {
  let underway = null;
  let next = null;
  const begin = () => {
    next = null;
    underway = work().finally(() => (underway = null));
    return underway;
  };
  return () => (underway ? (next ??= underway.then(begin, begin)) : begin());
}
