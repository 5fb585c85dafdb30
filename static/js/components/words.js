// What is typed into the card of a request: kept until it is answered, for one may look into another conversation first.
import { useState } from "../../vendor/preact.js";
import { readWords, writeWords } from "../drafts.js";

export function useWords(requestId, field) {
  const [text, setText] = useState(() => readWords(requestId, field));

  function keep(changed) {
    writeWords(requestId, field, changed);
    setText(changed);
  }

  return [text, keep];
}
