// Words for a run that goes on: by the socket, whose answer names the run; by the API where there is no socket.
import { t } from "./i18n.js";
import { freshId } from "./ids.js";

const PATIENCE_MS = 15_000;

export function createSteering({ send, post }) {
  const open = new Map(); // client id → {executionId, resolve, reject}

  // Resolves when the run has the words; else they are still the person's, and the error says why.
  async function steer(executionId, text) {
    if (!executionId) throw new Error(t("The answer is finished. Send this as a question."));
    const client_id = freshId();
    if (!send({ type: "steer", execution_id: executionId, text, client_id })) return void (await post(executionId, text));
    let timer;
    try {
      await new Promise((resolve, reject) => {
        open.set(client_id, { executionId, resolve, reject });
        timer = setTimeout(() => reject(new Error(t("The server did not say that it got this. Try again."))), PATIENCE_MS);
      });
    } finally {
      clearTimeout(timer);
      open.delete(client_id);
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

  return { steer, acknowledged, refused };
}
