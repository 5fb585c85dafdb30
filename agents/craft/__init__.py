"""What agents are made of, whichever they are.

`exchange` is what one is handed and hands back; `briefing`, `prompts`, `earlier_turns`, `today`, `project_rules` and
`passages` are what it is told. `loop`, `loop_state` and `middleware` are the rounds of a model and its tools. With
`stages`, `hearing`, `unheard`, `handing_over`, `summing_up` and `small` agents say what they are at, hear people, hand
over, say what came of it, and ask the small model. `programming`, `code_blocks`, `attached`, `charts` and `pictures`
are programs, the files that they work on, and what they draw.
"""
