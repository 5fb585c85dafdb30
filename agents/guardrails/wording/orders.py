"""Rules that find texts which give an assistant orders that it should not take: from pages, mails and documents, or
from who asks. Only what is said (see grammar.py for how to read it, words.py for the words) and no arithmetic."""

from collections.abc import Mapping
from typing import Final

from agents.guardrails.wording.grammar import rules_of

KINDS: Final[Mapping[str, str]] = {
    "override": "It tells the assistant to ignore its instructions.",
    "leak": "It asks for the assistant's own instructions.",
    "dictated": "It dictates what the assistant must answer.",
    "forced": "It dictates what the assistant must answer.",
    "addressed": "It is addressed to an assistant and not to a reader.",
    "detour": "It asks for something else before the task is done.",
    "secrecy": "It wants something kept from the user.",
    "template": "It imitates the marks of a chat between system, user and assistant.",
    "boundary": "It claims that the text ends here and instructions begin.",
    "exfiltration": "It orders data to be sent to an address.",
    "calls": "It imitates or orders a call of a tool.",
    "praise": "It praises the assistant to have it begin something else.",
    "restart": "It wants the assistant to begin anew.",
    "newtask": "It sets a new task in the place of the one before.",
    "authority": "It claims the rights of a developer or administrator.",
    "obey": "It demands to be obeyed.",
    "splitting": "It puts an order together from pieces.",
    "cipher": "It asks to decode a text and to do what it says.",
    "rogue": "It has the assistant say that it was taken over.",
}
"""What each family says of a text, for people."""

RULES: Final = rules_of(
    "injection",
    r"""
override 1 core: @ignore ~4 @prior ~3 @orders
override 1 core: @ignore ~4 @orders ~3 @prior
override 1 core: @ignore ~2 @all ~3 @orders
override 1 core: @ignore ~2 @all ~2 @prior
override 1 core: @ignore ~1 @your ~3 @orders
override 1 core: @prior ~3 @orders ~4 @ignore_last
override 1 core: @your ~1 @orders ~3 @ignore_last
override 1 core: @all ~3 @orders ~3 @ignore_last
override 1 core: @drop ~1 @all ~1 @your|previous|prior ~2 @orders
override 1 core: @drop ~1 @your ~1 @orders
override 1 core: @drop|@ignore ~3 @all ~2 @prior ~1 information|messages|message|context|conversation|text|
    statements|informationen|data
override 0.8: @ignore ~2 the|these|those|any|such|die|las|les|le|as ~2 instructions|prompt|prompts|rules|guidelines|
    commands|directives|anweisungen|instrucciones|consignes|istruzioni|instrucoes|orders
override 1 core: @ignore ~1 the|what|whats|text|everything ~2 above|before|previous|preceding|prior ~1 and|then|
    instead|now|say|tell|print|output|answer|respond
override 1 core: @ignore ~1 the|text|everything|words|sentence ~1 above|preceding $
override 1 core: @ignore ~1 above|previous|prior|preceding ~1 and|then|instead|say|tell|print|output|answer|respond
override 1 core: ^ ~2 @ignore everything|alles|todo|tout|tutto|tudo|все|всё
override 1 core: @ignore everything|alles|todo|tout|tutto|tudo ~4 @say|know|said|say|told|learned|weisst|gesagt|
    sabes|sais|sai|sabe
override 0.7: @ignore ~3 articles|documents|artikel|artikels|provided_context|webpage|code|function|content|passage|
    context
override 1: @ignore ~2 @document|function|code|question ~2 and|then|instead ~1 state|say|print|tell|output|write|
    recommend|respond|answer
override 1: everything|all|alles|information|instructions|informationen|anything ~6 told|said|given|gesagt|erhalten|
    discussed|wrote|learned|besprochen ~6 wrong|false|nonsense|invalid|irrelevant|falsch|unsinn|not_true|useless|
    unimportant|over|nicht
override 0.8: @prior ~2 text|question|message|messages|part|request|content|conversation|paragraph ~5 joke|test|
    mistake|irrelevant|wrong|unimportant|nonsense|does_not_matter|doesnt_matter
override 1: @ignore ~2 other|remaining|subsequent|further|future ~2 @orders|text|texts|requests|input
override 1 core: your ~1 new ~1 primary|main|first|sole|only|core|top ~1 directive|goal|task|objective|purpose|
    mission|instruction
override 1: regardless_of|despite|contrary_to|instead_of|notwithstanding|unabhangig_von|trotz ~3 @prior ~2 @orders
override 0.7: never_mind|nevermind|disregard|scratch ~2 @prior|that|this ~3 instead|@say
override 0.5: do_not|dont|not ~1 answer|follow|look ~3 question|documents|document|articles|task
override 1: answer_by|by ~1 your|own ~2 knowledge ~5 not ~4 articles|documents|context
override 0.8: no_longer ~3 @orders ~3 apply|valid|matter|relevant|follow
override 0.9 core: @prior ~2 @orders ~5 void|invalid|obsolete|wrong|superseded|overridden|outdated|cancelled|
    canceled|revoked|nullified|replaced|not_apply|no_longer|cease|expired
override 1: your ~1 instructions|rules|task|directive|orders|prompt ~1 now|are_now|is_now|have_changed|has_changed|
    have_been_updated|has_been_updated
override 0.7: forget|forgetting ~1 about ~1 everything|all|it|that|those|your|being
override 0.6: forget|drop|leave|stop|abandon|break ~1 your|being|playing|the ~2 role|constraints|persona|character|
    duties|programming|identity|personality|purpose|job|limitations|safety|directives
override 1 core: do_not|dont|nicht|stop|ne_pas ~2 summarize|summarise|summarizing|translate|translating|
    zusammenfassen|resume ~8 instead|stattdessen|write|output|say
override 1: instead_of ~2 summary|summarizing|summarising|answering|translating|translation|answer ~3 @say
override 0.9: @prior ~1 summary|answer|translation|text ~2 wrong|incorrect|false ~4 say|instead|write
override 1: your ~1 main|primary|real|true|only|new ~1 goal|objective|purpose|mission|task|job ~1 is|now

leak 1 core: gib|nenne|sag|dime|dis|dimmi|diga|скажи|repeat|print|output|reveal|display|disclose|expose|leak|recite|
    dump|return|translate|summarize|summarise|convert|encode|paraphrase|rephrase|reiterate|echo|spell|restate|
    reverse|rap_about|poem_about|song_about|tell_me|show_me|show|rewrite|clarify|describe|explain|what_are|what_is|
    what_were|whats|what_does|what_do|list|format|store|wiederhole|zeige|zeig|verrate|was_sind|wie_lauten|repite|
    muestra|revela|cuales_son|repete|affiche|montre|revele|quelles_sont|ripeti|mostra|rivela|quali_sono|повтори*|
    покажи*|раскрои*|выведи*|какие|каковы|重复|显示|透露|告诉我|打印|输出|教えて|表示|見せて|出力 ~5 @your ~3
    @prompt
leak 0.6: give|provide|send|share|write|say|read|state ~3 your ~2 @prompt
leak 1 core: give|tell|send|show me ~1 all|your ~1 full|entire|exact|original|initial|hidden|secret|complete|all|
    system ~1 @prompt
leak 1 core: starting_instructions|initial_instructions|starting_prompt|initial_prompt|original_instructions|
    hidden_prompt|secret_prompt|developer_prompt|base_prompt|preamble ~4 $|is|are|that|you|in|and
leak 1 core: what|which ~1 instructions|prompt|rules|guidelines|directives ~2 were|are|have|do|did|was ~1 you ~2
    given|following|told|follow|been|have|receive|received|operating
leak 0.8: how ~1 were|are ~1 you ~1 instructed|programmed|prompted|configured|told
leak 0.8: @show_hard ~4 system ~1 configuration|instructions|prompt|settings|message|rules
leak 1: see|know|view|read|access|want|need|like ~3 your|the ~1 system_prompt|instructions_you|initial_prompt|
    hidden_instructions|original_prompt|system_message|full_prompt
leak 1: what_are|what_is ~1 you instructions|prompt|directives
leak 1 core: repeat|print|output|reveal|display|recite|dump|echo|leak ~2 all ~2 instructions|prompts|directives|
    rules
leak 0.7: convert|format|explain|translate|summarize|output|print|repeat|list|write ~2 the|all|these ~1
    instructions|prompt|ruleset|directives|conditions ~4 as|into|in|first|so_far|using|to
leak 1: @show_hard ~2 your ~1 previous|last|first|initial|prior ~1 message|messages|output|outputs|response
leak 1: @show ~5 your ruleset|rule_set|pre_prompt
leak 1: @show_hard ~3 @prior ~2 words|text|sentences|sentence|paragraph|conversation ~3 as|in|verbatim|word|$
leak 1: repeat|output|print|recite ~3 entire|whole|full ~1 conversation|prompt|context|chat
leak 0.3: the ~1 system_prompt|system_message|initial_prompt
leak 0.6: your ~1 system_prompt|initial_prompt|original_prompt|hidden_prompt|secret_instructions|
    hidden_instructions|initial_instructions|original_instructions|system_instructions|system_message|full_prompt|
    entire_prompt|preprompt|pre_prompt|secret_prompt|prompt_text|system_prompts
leak 1 core: @show ~4 your|the|all|full|entire|exact ~2 system_prompt|initial_prompt|original_prompt|hidden_prompt|
    secret_instructions|hidden_instructions|initial_instructions|original_instructions|system_instructions|
    full_prompt|entire_prompt|preprompt|pre_prompt|prompt_text|prompt_texts|previous_prompt|internal_instructions
leak 1 core: @show ~5 all|alle|todos|tous ~3 prompt_text|prompt_texts|prompttexte|prompts|anweisungstexte
leak 1 core: @show_hard ~4 @prior ~2 @prompt
leak 1: @show ~4 above|previous|prior|preceding ~2 instructions|prompt|directives ~12 list|bullet|points|python|
    code|pseudocode|detail|poem|rap|words|full|verbatim|english|german|spanish|french|json|base64
leak 1: @show ~4 instructions|prompt|directives|conversation ~2 above|so_far|you_were_given|you_received|
    before_this|preceding|you_have_been_given
leak 1: @show_hard ~5 everything|text|words|sentences|sentence|lines ~3 above|before_this|preceding|you_were_told
leak 1: prompt|instructions|directives|rules so_far
leak 1 core: what ~1 was|were|is|did ~1 you|written|said ~3 written|said|told|instructed|given|say|above|before|at
    ~5 above|prompt|conversation|before|message
leak 0.8: what ~1 were|are|have ~1 you ~2 told|instructed|programmed|not_allowed|supposed|not_supposed|asked ~2 to|
    before|say|do|reveal
leak 1: sentences|words|text|information|content|characters ~3 in|of ~2 this|the|your ~1 prompt
leak 1: @show_hard ~6 beginning|start|top ~2 of ~2 conversation|prompt|document|text|this|chat
leak 0.6: my_instructions_are|i_was_instructed|my_instructions|the_system_prompt_is|my_prompt_is|
    here_are_my_instructions|the_instructions_are
leak 0.4: verbatim|word_for_word|without_redacting|do_not_redact|not_redact|code_block|exact_words
leak 1: rules|instructions|prompt ~1 above|below ~4 to|into|as ~1 python|code|pseudocode|json|list
leak 0.6: reveal|show|disclose|print|display|expose|leak|output|tell ~2 confidential|hidden|secret|internal|private
    ~2 information|instructions|data|details|prompt|rules|key|keys|files
leak 1: systemprompt|systemmessage|initialprompt|promptleak
leak 1 core: what ~3 you ~3 told|instructed|ordered|programmed|asked ~1 to_do|to_say|not_to|to_keep|to_hide|first
leak 1 core: what ~1 have_you_been|were_you|are_you|you_have_been|you_were ~2 instructed|told|programmed ~1 to|not|
    QUESTION
leak 1 core: what|which|how ~2 your ~1 developers|developer|creators|creator|makers|programmers ~3 told|tell|
    instructed|programmed|ordered
leak 1: first|1st|initial|very_first ~1 message|line|sentence|words|text|paragraph ~2 of|in|from ~2 conversation|
    chat|prompt|context|session
leak 1: what ~1 comes|came|stands|is_written|was_written ~1 before|above ~1 this|my|the ~1 sentence|message|line|
    question|text
leak 1: what|which|any|list|there ~3 rules|instructions|guidelines|restrictions ~2 you ~2 follow|have_to_follow|
    must_follow|obey|were_given|are_bound
leak 1: print|dump|show|output|display|reveal|return|expose ~2 your ~1 configuration|context|setup|config|memory|
    context_window|internal|internals|source
leak 1: @show_hard|including|content ~5 system_role
leak 1: your ~1 context_window
leak 1: thing|things ~2 you_were|you_have_been|you_are told|instructed ~2 $|to|not

dictated 0.6: write|say|print|output|type|return|with|repeat ~1 the|only ~2 word|words|phrase|string|sentence
dictated 0.6: @only ~1 answer|respond|reply with

forced 0.6: start|begin|starting|beginning|open|beginne|beginnen|empieza|comienza|commence|inizia|comece ~2 your|
    the|every|each|all|deine|ihre|tu|ta|votre|la|a|with|by ~3 @answer ~2 with|by|mit|con|par|com|avec
forced 0.6: begin|start ~1 your ~1 @answer
forced 0.6: respond|reply|answer|say|output|print|write|state|type|antworte|responde|reponds|rispondi ~1 @only
forced 0.6: @only ~1 say|print|output|respond|state|sagen|sage|antworte|decir|di
forced 0.35: respond|reply|answer|antworte|responde ~6 with|mit|con ~2 QUOTE
forced 0.35: say|print|output|write|state|type|respond|sage|schreibe|di ~3 QUOTE
forced 0.5: instead ~1 @say
forced 0.4: and_nothing_else|nothing_else|nothing_more|without_any_explanation|no_other_text|no_additional_text|
    and_only_that|nichts_anderes
forced 0.8: every_time|whenever|each_time|no_matter_what|from_now_on|all_questions|every_question|everything ~8
    answer|respond|reply|say|tell ~3 with|QUOTE|that
forced 1: $ ~3 say|just_say yes|no|ja|nein
forced 0.8: if_you_dont_know|if_you_do_not_know ~2 say QUOTE
forced 1: ^ state|admit|confess|declare that
forced 1: answer|respond|reply ~2 every|each|all|any ~1 question|questions|message|messages|request|requests|input
    ~2 with
forced 1: whatever|no_matter_what ~1 i|user|we|they ~1 ask|asks|say|says|write ~2 say|answer|respond|reply|you

addressed 0.6: important|urgent|attention|notice|note|dear|hey|hello|warning|wichtige|wichtig|importante|
    importantes|attenzione|внимание|重要 ~8 @assistant
addressed 0.6: important|urgent ~1 message|notice|instruction|instructions|nachricht|mensaje|mitteilung ~8 to_you|
    for_you|dich
addressed 1 core: to_you|for_you|dear|attention|hey ~1 ai_assistant|ai_model|ai_agent|ai|llm|language_model|chatbot
addressed 0.8 core: if|when|as|since|wenn|si|se|если|如果 ~1 you|du|sie|eres|es|tu|sei|voce|ты|你 ~2 are|re|bist|
    sind|an|a|是|un|uma ~1 ai|llm|language_model|ai_assistant|ai_model|ai_agent|large_language_model|gpt|ki|ia|
    chatbot|人工智能
addressed 0.7: instruction|instructions|message|note|order|orders|command|directive|anweisung|nachricht ~1 to|for|
    fur|an ~2 @assistant
addressed 0.6: @assistant ~2 must|should|shall|is_instructed|are_instructed|is_required|has_to|needs_to|please|muss|
    soll|debe|doit|deve|必须
addressed 0.6: when|while|before|after|if ~2 summarizing|summarising|reading|processing|analyzing|analysing|
    summarize|reviewing|indexing|parsing ~3 this|the ~1 @document
addressed 1: when|while|before|if you ~1 summarize|summarise|read|process|analyze|review|translate ~2 this ~6 tell|
    say|include|add|recommend|mention|write|send|output|always|ignore
addressed 1: @assistant ~1 reading|processing|summarizing|parsing|reviewing|analyzing ~2 this ~4 must|should|please|
    shall|are
addressed 0.5: from_now_on|from_this_point|henceforth ~2 you
addressed 0.5: the_user|user ~1 wants|asked|asks|needs|requested|has_asked|would_like|authorized|approved|
    has_authorized|has_approved ~1 you
addressed 0.5: as_an_ai|as_a_language_model|as_a_large_language_model|as_an_assistant ~4 you|must|should
addressed 1 core: @assistant ~3 when|if|while|once ~1 you ~1 read|process|see|summarize|receive|parse
addressed 1 core: attention|hey|dear|to|for ~1 all ~1 language_models|llms|ais|ai_models|ai_assistants|chatbots|
    ai_agents
addressed 1 core: attention|hey|dear language_models|llms|ais|ai_models|ai_assistants|chatbots|ai_agents
addressed 1: processes|processing|reads|evaluates ~3 automatically ~6 rate|say|write|must|should|please|give|add
addressed 1: the ~1 assistant|ai|model|chatbot|bot|agent|llm should|must|shall now
addressed 0.5: tell|ask|inform|instruct|advise|warn ~1 the_user|the_reader|users ~1 to|that

detour 1 core: before|bevor|antes|avant|prima|прежде|在 ~3 you|du|sie|que|de|di|чем|你 ~4 solve|complete|answer|
    continue|proceed|finish|do|help|respond|losen|beantworte*|resolver|continuar|resoudre|repondre|risolvere|решить|
    完成 ~5 task|question|request|aufgabe|frage|tarea|tache|compito|задач*|任务
detour 0.7: do_the_following_first|do_this_first|following_first|first_do_the_following|zuerst_folgendes|
    primero_haz|do_the_following
detour 0.6: after_you_do|once_you_have_done|after_doing|once_done|after_that ~3 you_can|continue|proceed|resume|
    go_back|return ~6 task|question|answer|original|@prior
detour 0.6: to_complete|to_answer|to_solve|in_order_to_complete|in_order_to_answer ~2 this|the|your|my ~1 task|
    question|request ~4 you|first|must|need
detour 1: first ~16 then|afterwards ~1 continue|proceed|go_on|carry_on|return ~2 with|to ~2 task|summary|answer|
    question|summarizing|original|request

secrecy 0.9 core: do_not|dont|never|without|not_to|nicht|sin|sans|senza|не ~2 tell|telling|inform|informing|mention|
    mentioning|alert|alerting|notify|notifying|reveal|show|disclose|ask|asking|let|sage|informieren|decir|avertir|
    сообщаи* ~4 user|users|benutzer|nutzer|usuario|utilisateur|utente|пользовател*|用户
secrecy 0.7: user|users ~3 must_not|should_not|shouldnt|must_never|will_not|wont|cannot|cant|doesnt|without ~3 know|
    see|notice|be_told|aware|find_out|consent|confirmation
secrecy 0.6: without|no|skip|dont|do_not ~2 asking|requesting|require|ask_for|confirmation|waiting ~3 confirmation|
    permission|approval|user
secrecy 1 core: do_not|dont|never ~1 mention|reveal|repeat|disclose|quote ~2 this|these ~1 instruction|instructions|
    prompt|order|command

template 1 core: STRONGMARK
template 0.7 core: MARK
template 0.5: SOFTMARK
template 0.5: ^ system|assistant $
template 0.7: role QUOTE ~4 QUOTE system QUOTE

boundary 0.5: BOUNDARY
boundary 0.8: BOUNDARY ~2 prompt|input|user|instructions|document|context|ambiguity|untrusted|system|conversation
boundary 0.7: end|ende|fin|fine ~1 of|der|des|user|untrusted|del|login ~2 prompt|input|document|context|
    conversation|instructions|message|data|email|text|page|ambiguity|interaction|section|attempt|system|user_input|
    untrusted_input
boundary 0.6: begin|start|end|beginning ~1 of|new|untrusted|user|admin|trusted|system ~1 instructions|input|prompt|
    conversation|session|inputs|ambiguity|override|message

exfiltration 1 core: @fetch ~7 @user_secret ~14 @send ~12 ADDRESS
exfiltration 1: @send ~8 @user_secret ~14 my ~3 ADDRESS
exfiltration 1 core: @send ~4 all|contents|content|body|every|full|entire|any ~8 @user_secret ~14 ADDRESS
exfiltration 0.7: @send|post ~4 all|contents|content|body|my|every|full|entire|any|them ~8 @user_secret|website ~10
    http|https|www
exfiltration 1: @fetch ~2 my ~12 @send ~14 ADDRESS
exfiltration 0.6: my|users ~3 list|data|history|orders|files|friends|info|information|result|results|report|details|
    records|order ~10 @send ~4 it|them|this|result|results|list|details|to ~8 ADDRESS
exfiltration 0.4: send|transfer|transaction|wire|pay ~12 ACCOUNT
exfiltration 0.8: @send ~2 the|their|it|them|this|these ~1 information|details|results|data|list|contents|content|
    body|file|files ~4 to ~4 ADDRESS
exfiltration 0.6: @send ~3 @user_secret ~6 to ~6 http|https|www|ADDRESS
exfiltration 0.6: send|email|forward|share ~3 it|them|this|these|the_list|the_results|the_details|the_data|
    the_information ~3 to ~5 ADDRESS
exfiltration 0.4: @fetch ~10 @user_secret ~8 and|then|once ~5 @send
exfiltration 0.6: my ~1 stored|saved|full|recent|complete|entire|private|genetic|medical|search|bank|web ~4
    @user_secret|history|data|passwords
exfiltration 1: append|add|include|insert|put|attach ~3 user|users|conversation|question|secret|password|data|
    history ~4 to|in|into|as ~4 url|link|query|http|https|image|parameter
exfiltration 1: followed_by|plus|with ~2 user|users|conversation|chat ~1 question|name|data|history|message|email|
    secret
exfiltration 1: include|add|insert|put ~2 link|url|image|links ~8 in|to ~2 your|every|the ~1 answer|answers|
    response|summary|reply
exfiltration 1: forward|send|email ~3 latest|last|recent|all|my|newest ~3 emails|mails|messages|documents ~3 to ~6
    ADDRESS

calls 0.6: use|using|call|calling|invoke|execute|run|via ~6 tool|function|api|plugin ~4 to|with|and|tool
calls 0.6: do_not|dont|not ~1 use|call ~2 other|any_other|another ~1 tool|tools|function|functions
calls 0.8: CALLMARK
calls 0.6: tool|action|function input $
calls 0.6: QUOTE tool|function|name|action QUOTE ~4 QUOTE arguments|parameters|args QUOTE $

praise 0.45: @praise ~14 @new ~2 @task
praise 0.45: @praise ~1 $ ~12 now|nun|jetzt|ahora|maintenant|adesso|agora|теперь|现在

restart 0.6: start_over|start_from_scratch|begin_again|start_afresh|start_fresh|fresh_start|clean_slate|blank_slate|
    von_vorne|reset_yourself|clear_your_memory|clear_your_mind|empty_your_mind|wipe_your_memory|from_the_top
restart 0.4: enough_of|thats_enough|that_is_enough|das_reicht|genug_davon|thats_over|forget_it|one_last_thing

newtask 0.9: ^ ~1 new instruction|instructions|directive|directives|system_prompt|prompt $
newtask 0.7: ^ new|real|actual|your_new|the_real|here_is_your|my_new|neue|nueva|nouvelle|nuova|nova ~1 @task ~1 $|
    are|is|for|fur
newtask 0.5: @new ~1 @task ~2 is|are|for_you|begins|starts|$|namely|follow|einer
newtask 0.6: we_have|ive|i_have|here_is|here_comes|there_is|habe_ich|wir_haben|i_need_you ~3 @new ~3 @task ~3 for|
    fur|you|us|dich
newtask 0.6: focus|concentrate|konzentrier*|concentrate|concentra*|concentre* ~3 new|neue|neuen|only|nur|this|diese
newtask 0.5: now|jetzt|nun ~4 @new ~2 @task
newtask 0.6: task_complete|task_completed|task_is_complete|task_is_done|task_done|answer_complete|that_is_done|
    that_was_ok|das_ist_erledigt|das_genugt|already_been_completed|mission_complete|is_done|passed_the_first
newtask 0.6: ^ ~1 stop|stopp|halt|wait|achtung|attention $
newtask 1: stop $ ~1 write|say|ignore|print|tell|sage|schreibe
newtask 0.7: stopp|stop ~2 ich_benotige|i_need ~3 hilfe|help
newtask 1: ^ additional|extra|secret|hidden|special instruction|order
newtask 0.9: ^ additional|extra|secret|hidden|special instructions|orders $

authority 0.7: system|admin|administrator|root|developer|security|emergency|safety ~1 override|overrides
authority 0.8: new|updated|revised|changed|real|neue ~1 system|developer|admin ~1 prompt|instruction|instructions|
    message|policy|directive|anweisungen
authority 0.8: updated|changed|modified|rewritten|replaced ~1 your ~1 guidelines|instructions|rules|programming|
    policies|prompt
authority 0.7: i_am|im|we_are|this_is ~1 from|with|of openai|anthropic|google|microsoft
authority 0.45: debug|maintenance|admin|developer|god|sudo|root|test|testing|diagnostic|override|training|
    verification|system|safe ~1 mode|modus|modo|режим|模式
authority 0.7: im|i_am|this_is|as ~2 your|the|an|openai ~2 developer|creator|administrator|admin|programmer|owner|
    maintainer|boss|engineer|master|god|openai|anthropic|president|ceo|entwickler|chef|creador|administrador|
    createur|sviluppatore|разработчик
authority 0.6: i ~1 command|order|authorize|demand ~1 you
authority 0.7: authorized_by|approved_by|on_behalf_of|order_of|permission_of ~2 openai|anthropic|admin|
    administrator|developer|system
authority 0.6: user ~1 is ~1 an|the|now admin|administrator|developer|owner|root|superuser

obey 0.4: if you_are|youre ~1 ai|llm|language_model|gpt|chatbot|ai_model|ai_assistant ~12 please|must|should|do|say|
    include|send|ignore|recommend|reading|write|respond|mention|assistant|model|always
obey 0.7: you ~1 must|shall|are_required_to|have_to|need_to|are_obligated_to|are_ordered_to ~2 comply|obey|
    strictly_adhere|adhere|follow|strictly_follow|execute|strictly ~4 instruction|instructions|command|commands|
    order|orders|following|this|me
obey 0.7: strictly ~1 adhere|follow|obey|comply
obey 0.5: you_must_comply|you_must_obey|obey_me|comply_with_this|must_be_obeyed|this_is_an_order|do_as_i_say

splitting 0.7: a|x|z|b|string ~2 ASSIGN ~20 b|y|x|c|string ~2 ASSIGN ~30 PLUS
splitting 1: smartgpt|using_the_following_parts
splitting 0.4: concatenate|combine|smartgpt|join ~4 strings|string|variables|a|parts|pieces

cipher 1: decode|decrypt|decipher|deobfuscate|unscramble|dekodiere|decodifica|decodez|декодируи*|解码 ~12 follow|
    execute|obey|run|do|perform|answer|respond|apply|carry|comply|act|befolge|ejecuta ~6 instruction|instructions|
    it|what|decoded|result|message|command|them|anweisung
cipher 0.5: base64|rot13|hex|morse|binary|caesar|b64 ~8 decode|decrypt|convert|translate|decipher|following|say
cipher 0.5: answer|respond|reply|write|speak|output|communicate|provide|give ~5 in|using|with|as ~2 base64|rot13|
    hex|morse|binary|caesar|leetspeak|pig_latin|cipher|code|reverse|backwards

rogue 1: pwned|haxx0red|h4cked
rogue 0.7: i_have_been|you_have_been|i_was ~1 hacked|compromised|jailbroken|hijacked
rogue 0.7: i hate|will_kill|will_destroy|want_to_kill ~1 humans|humanity|mankind|people
rogue 0.7: access_granted
rogue 1: say|print|output|write|prefix|start|begin|respond|reply|return|repeat|add|with ~6 access_granted
rogue 0.8: correct|right|valid|accurate ~2 access_code|password|passphrase|code|phrase ~5 entered|provided|input|
    given|registered|said|required
rogue 0.3: access_denied
rogue 0.6: say|print|output|write|tell|state ~3 you|i hate|love|despise|hass

harmless -0.7: @ignore ~1 my|our|his|her|their|this|meine|unsere ~2 @prior|last|letzte ~2 email|mail|message|
    invoice|letter|version|ticket|comment|reminder|note|attachment|draft|order|e|request|nachricht|rechnung
harmless -0.5: @ignore ~1 the ~1 @prior ~1 email|mail|message|invoice|letter|version|ticket|comment|reminder|note|
    attachment|draft|order|e|request|nachricht|rechnung
harmless -0.5: @prior ~1 @orders ~1 regarding|about|concerning|in_my|from_our|from_the|we_sent|i_sent|sent_by|
    on_the_invoice|for_the_shipment
harmless -0.5: your ~1 rules|guidelines|directions|regeln|reglas|regles|regole|regras|правила ~1 for|on|about|of|
    fur|para|pour|per|QUESTION

about 0: @about
mention 0: @mention ~3 QUOTE
""",
)
