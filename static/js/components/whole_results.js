// Whole results of tools, for whoever may read them: the events have their beginnings.
import { createContext } from "../../vendor/preact.js";

// `(seq) => Promise<{content, chars}>`: the whole of the result whose beginning the event of this number told. None where the page
// may not read it.
export const WholeResults = createContext(null);
