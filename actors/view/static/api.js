// What is asked of the server: only numbers to read, on the same address.

/** An answer that is a problem, in words. */
export class Problem extends Error {}

async function ask(path, query) {
  const parameters = new URLSearchParams(query).toString();
  let answer;
  try {
    answer = await fetch(`/api/${path}${parameters && `?${parameters}`}`);
  } catch {
    throw new Problem("prism view does not answer: it has been stopped, or this computer has slept");
  }
  if (answer.ok) return answer;
  if (answer.status === 401) throw new Problem("open the address that prism view has printed, with its token");
  let problem = `prism view answered ${answer.status}`;
  try {
    problem = (await answer.json()).problem ?? problem;
  } catch {
    // it is no JSON: the status says it
  }
  throw new Problem(problem);
}

/** Return the numbers at an address. */
export const read = async (path, query = {}) => (await ask(path, query)).json();

/** Return the bytes at an address. */
export const bytes = async (path, query = {}) => (await ask(path, query)).arrayBuffer();

/** Return the path of a run. */
export const ofRun = (name, rest = "") => `runs/${encodeURIComponent(name)}${rest && `/${rest}`}`;
