// What is typed or changed in the card of a request: kept until it is answered, for one may look into another conversation
// first.
import { useState } from "../../vendor/preact.js";
import { readWords, writeWords } from "../drafts.js";

export function useWords(requestId, field, otherwise = "") {
  const [typed, setTyped] = useState(() => readWords(requestId, field, otherwise));

  function keep(changed) {
    writeWords(requestId, field, changed);
    setTyped(changed);
  }

  return [typed, keep];
}
