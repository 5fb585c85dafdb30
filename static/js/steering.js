// Words for a run that goes on: by the socket, whose answer names the run; by the API where there is no socket. They have an id,
// under which the server takes them once: what got no answer is told to the next socket again.
import { t } from "./i18n.js";
import { freshId } from "./ids.js";

const PATIENCE_MS = 15_000; // of a socket that is open

export function createSteering({ send, post }) {
  const open = new Map(); // client id → {executionId, text, resolve, reject, timer}
  const unanswered = new Map(); // run and words of which nobody knows whether they arrived → their client id
  let wasOpen = false; // a socket was: another one will be

  // Resolves when the run has the words; else they are still the person's, and the error says why.
  async function steer(executionId, text) {
    if (!executionId) throw new Error(t("The answer is finished. Send this as a question."));
    const said = JSON.stringify([executionId, text]);
    const client_id = unanswered.get(said) ?? freshId();
    unanswered.set(said, client_id);
    try {
      await new Promise((resolve, reject) => {
        open.set(client_id, { executionId, text, resolve, reject, timer: null });
        if (!tell(client_id)) post(executionId, { text, client_id }).then(resolve, (error) => (error.status || !wasOpen) && reject(error));
      });
      unanswered.delete(said);
    } finally {
      clearTimeout(open.get(client_id)?.timer);
      open.delete(client_id);
    }
  }

  function tell(client_id) {
    const words = open.get(client_id);
    clearTimeout(words.timer);
    if (!send({ type: "steer", execution_id: words.executionId, text: words.text, client_id })) return false;
    words.timer = setTimeout(() => navigator.onLine !== false && words.reject(unknown()), PATIENCE_MS); // a socket does not notice at once
    return true;
  }

  const unknown = () => new Error(t("The server did not say that it got this. Try again."));

  function opened() {
    wasOpen = true;
    [...open.keys()].forEach(tell);
  }

  // `forGood`: there will be no other socket.
  function parted({ forGood }) {
    for (const words of open.values()) {
      clearTimeout(words.timer);
      if (forGood) words.reject(unknown());
    }
  }

  // A frame that names no client id means the oldest that waits for its run.
  function waiting({ client_id, execution_id }) {
    if (client_id) return open.get(client_id);
    return [...open.values()].find(({ executionId }) => executionId === execution_id);
  }

  const acknowledged = (frame) => waiting(frame)?.resolve();

  // True if the error was meant for a steering.
  function refused({ error, ...frame }) {
    const mine = waiting(frame);
    mine?.reject(new Error(error.message));
    return Boolean(mine);
  }

  return { steer, opened, parted, acknowledged, refused };
}
