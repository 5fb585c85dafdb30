"""How orders to an assistant are worded: words, rules over them, and the machine that weighs what they find."""
