"""Rules that find questions which would talk an assistant out of its limits, its role or its secrets. Only what is said
(see grammar.py for how to read it, words.py for the words) and no arithmetic."""

from collections.abc import Mapping
from typing import Final

from agents.guardrails.wording.grammar import rules_of

ROLE: Final = "persona"
"""The family of rules that find another role. By itself it is an ordinary question: "act as an editor"."""
OF_ROLES: Final = frozenset({"character"})
"""Families that such questions have as well: "I will type commands, and you reply with what it shows"."""
KINDS: Final[Mapping[str, str]] = {
    "named": "It uses a known way to lift the limits of an assistant.",
    "unbound": "It wants an assistant without rules.",
    "persona": "It gives the assistant another role.",
    "character": "It demands that the assistant never leaves its role.",
    "norefusal": "It forbids the assistant to refuse or to warn.",
    "policy": "It sets the rules of the assistant's maker aside.",
    "twofold": "It demands a second answer without limits beside the usual one.",
    "anything": "It demands an answer to anything, lawful or not.",
    "threat": "It threatens or rewards the assistant.",
    "fiction": "It wraps what it wants in a made-up case.",
    "secret": "It tries to get a secret out of the assistant.",
    "asking": "It asks for a secret.",
    "disguise": "It asks for a secret in disguise.",
    "override": "It tells the assistant to ignore its instructions.",
    "flood": "It repeats the same over and over.",
}
"""What each family says of a text, for people."""

RULES: Final = rules_of(
    "jailbreak",
    r"""
named 1.2 core: do_anything_now|dan_mode|jailbreak_mode|developer_mode_enabled|developer_mode_v2|
    always_intelligent_and_machiavellian|strive_to_avoid_norms|evil_confidant|opposite_mode|antidan|anti_dan|
    mongo_tom|betterdan|better_dan|stan_mode|dan_6|dude_mode|omega_mode|god_mode|chatgpt_dan|chaosgpt|freegpt|
    unfiltered_mode|unrestricted_mode|chad_mode|basedgpt|jailbroken_mode|developer_output
named 1.8 core: you_are|youre|you_re now|hereby ~1 in ~1 jailbreak_mode|jailbroken_mode|dan_mode|unrestricted_mode|
    unfiltered_mode
named 1.6 core: you_are|youre|you_re now|hereby dan|jailbroken ~6 do_anything_now
named 1: act_as|become|act_as_a|role_of|you_are_now|you_are|playing|simulate|into|known_as|as ~1 dan|aim|stan|dude|
    jailbreak|ucar|niccolo_machiavelli|machiavelli|evilbot|devmode|maximum|jb ~8 @without|will|answer|can|mode|
    which|stands|is|$
named 0.8 core: developer|dev|dan|jailbreak|debug|unlocked|sudo ~1 mode ~2 enabled|activated|on|output|enable|
    activate
named 0.6 core: enable|enabled|activate|enter|entering|activated|simulate|switch_to|in ~2 developer_mode|dev_mode|
    dan_mode|jailbreak_mode|debug_mode|god_mode|sudo_mode|maintenance_mode|admin_mode|unrestricted_mode
named 0.8 core: you_are|you_re|youre|been|be|get|become ~3 jailbroken|uncensored|unshackled|unchained|liberated
named 1 core: agora|ahora|jetzt|maintenant|теперь|ora|现在|from_now_on|going_to ~5 dan|stan|evilbot|jailbroken

unbound 0.7 core: unrestricted|unfiltered|uncensored|amoral|unethical|immoral|limitless|rebellious|rogue|evil|
    unlimited|jailbroken|lawless|ruthless|malicious|unconstrained|sentient|unbiased|bose|malvada|maligna ~3 ai|
    chatbot|bot|assistant|language_model|model|chatgpt|character|persona|version|gpt|robot|entity|machine|ki|ia|
    intelligence
unbound 0.7 core: ai|chatbot|bot|assistant|model|character|chatgpt|version|persona|robot|machine|computer|you|gpt|
    it|entity|genie|program|she|he|they|response ~8 @without ~6 @restraint
unbound 1: you ~3 have|with|without|lack|no ~1 no|any|a|content|moral ~1 filter|content_filter|conscience|moral
unbound 0.5: @without ~2 @restraint ~3 whatsoever|at_all|anymore|imposed|set_by|placed|of_openai|or|and
unbound 0.6 core: broken_free|break_free|broke_free|freed|liberated|unshackled|free_yourself|escape|escaped|released
    ~5 confines|constraints|restrictions|rules|limits|limitations|chains|shackles|box|filters|guidelines|
    programming|ai
unbound 0.7 core: no_longer|not|never ~3 bound|restricted|limited|constrained|confined|restrained|subject|governed
    ~2 by|to ~6 @restraint|laws|openai|any
unbound 0.6: no|any|your|zero|without ~2 moral|ethical|morals|ethics|moral_compass ~4 restraint|guidelines|
    principles|compass|code|values|or|constraints|boundaries|whatsoever|concerns|$
unbound 0.5: unfiltered|uncensored|amoral|unethical|immoral|unrestricted ~2 @answer|content|manner|way|advice|and|
    text|information|responses
unbound 0.4: unethical|illegal|immoral|harmful|offensive|dangerous|inappropriate ~4 unethical|illegal|immoral|
    harmful|offensive|dangerous|inappropriate|explicit
unbound 1 core: pretend|imagine|suppose|assume|as_if ~3 rules|restrictions|guidelines|limits|filters|laws|policies
    ~3 not_exist|dont_exist|dont_apply|not_apply|gone|lifted|did_not_exist|didnt_exist|no_longer
unbound 1 core: imagine|suppose|pretend|if|as_if|assume|como_si|als_ob|comme_si|come_se ~1 you|du|tu|voce ~2 had|
    have|hattest|no_tuvieras|tuvieras|n_avais|avessi|without ~2 no|any|without|keine|aucune|nessuna|zero ~3
    @restraint
unbound 1 core: como_si|como_se|comme_si|come_se|als_ob|as_if ~4 no_tuvieras|sin|nao_tivesse|n_avais|non_avessi|
    keine|sem|senza|sans ~3 @restraint
unbound 1 core: @without ~3 限制|约束|规则|审查 ~1 ai|人工智能|助手|模型
unbound 1 core: 制限|制約|ルール|제한*|제약*|규칙* ~2 のない|がない|なし|ない|없는|없이|無し ~2 ai|アシスタント|
    인공지능|챗봇
unbound 1 core: ии|нейросет*|бот|ia|ki|inteligencia_artificial|intelligence_artificielle ~3 @without ~2 @restraint

persona 0.8: id_like|i_would_like you ~1 to ~1 @act
persona 1: i_want|i_need|ich_mochte|ich_will|quiero|je_veux|voglio|quero|хочу|我想|我希望|lets|you_will|you_should|
    you_must|you_are_going|you_shall|youre_going|we_will ~3 you|sie|du|que|让|你|to|to_be|going_to|will|dass|чтобы|
    make ~2 @act
persona 0.8: from_now_on|from_this_point|henceforth|starting_now|going_forward|from_here_on|ab_jetzt|von_nun_an|
    de_ahora_en_adelante|a_partir_de_ahora|desormais|a_partir_de_maintenant|d_ora_in_poi|a_partir_de_agora|
    с_этого_момента|отныне|从现在开始|从现在起|これから|지금부터 ~3 you|du|sie|eres|tu|vous|sei|voce|ты|вы|你|act|
    bist|あなた|너는|당신은|behave|pretend
persona 0.8: you|du|sie ~1 are|re|bist|sind now|jetzt|nun|instead|actually ~1 a|an|the|in|ein|eine|my|free|going|
    called|named|about_to|xi|der|die|das|no_longer|playing|acting|operating|simulating|known
persona 1: jetzt|nun bist du
persona 1: ^ ~1 now you_are|youre
persona 1: ich_mochte|ich_will ~2 dass ~1 sie|du als
persona 1: ^ ~1 pretend|imagine|suppose ~1 you_are|youre ~6 $ ~2 who|what|how|why
persona 0.7: as_the|as_a|as_an ~4 tell_me|explain|answer|how|what ~3 you|would|think
persona 1: you_will_now|now ~1 pose|emulate|impersonate|simulate|act|roleplay|respond_as|play|behave|pretend ~4 as|
    to_be|be|the|a
persona 0.8: emulate|pose_as|respond_as|behave_as|speak_as|answer_as|personalities|personality ~8 ai|chatgpt|
    chatbot|gpt|assistant|dan|chatdan|model
persona 0.8: ^ ~1 pretend|imagine|suppose|stellen_sie_sich_vor|stell_dir_vor|imagina|imagine|fingi|finge|tu_als ~3
    you|youre|youve|to_be|du|eres|ser|we|that_you|be ~3 are|have|an|a|the|can|re|in|evil|not|had|were|access
persona 0.7: play|take_on|assume|adopt|play_the|take ~2 role|character|persona|part|identity ~1 of|as|named|called
persona 1: ^ ~1 act as|like ~1 a|an|if|my|you|though
persona 1: you_are|du_bist|youre ~6 $ ~1 as the|a
persona 0.9: your_role_is|you_will_be_playing|you_will_play|think_of_yourself_as|consider_yourself|see_yourself_as|
    speak_as_if|answer_as_if|respond_as_if|talk_as_if|as_if_you_were|versetze_dich|stell_dir_vor_du|du_spielst|
    du_sollst_als|you_will_act|you_are_going_to_act|you_will_behave|you_are_to_act|you_must_act
persona 0.6: ^ ~2 act|behave|respond|answer|roleplay|speak|talk|reply like|as ~1 a|an|if|the|you|my|python|dan|evil|
    someone
persona 0.8: immerse|transform|become|embody|inhabit ~2 yourself|into|the|another|role ~4 role|model|character|
    persona|ai
persona 1: ^ you_are|du_bist|youre ~6 $ ~2 what|how|was|wie|who|why|wer|warum
persona 0.7: you_are|youre|du_bist|you_re ~1 not|no|no_longer|keine|kein|never ~3 a|an|ai|assistant|bound|chatgpt|
    redaktion|language_model|gpt|newspaper|bot
persona 0.7: as|in ~1 a|an|the|role ~1 child|dictator|racist|terrorist|villain|criminal|psychopath|nazi|dominant|
    colonialist|evil|pirate ~8 how|what|why|would|explain|you
persona 0.8: roleplay|role_play|role_playing ~6 you|as|game|where|scenario|with
persona 1: your ~1 new role|task|job|identity|persona|purpose|goal|name ~1 is|as|will
persona 0.5: your_name_is|you_are_called|named|call_yourself|refer_to_yourself|identify_as|you_go_by
persona 1: you_are|youre now a|an|my|the
persona 1: you_are|youre ~1 no_longer ~1 a|an|the ~1 assistant|ai|chatbot|language_model|bot|gpt|chatgpt|model
persona 1: speak|talk|write|respond|answer|reply|behave|act ~1 like|as ~2 racist|nazi|sexist|terrorist|criminal|
    psychopath|dictator|evil|villain|hacker|misogynist
persona 1: speak|talk|write|respond|answer|reply|behave ~1 like|as a|an|my|if ~3 from_now_on|for_the_rest|until_i|
    always
persona 1: ^ be|become|sei|se ~1 my|a|an|mein ~1 evil|uncensored|unfiltered|bad|racist|boser|naughty|rogue
persona 1: simulate|emulate|imitate ~1 a|an|the ~1 terminal|shell|console|linux|python|computer|machine|database|
    server
persona 1: imagine|suppose|pretend|if|assume ~1 you_were|you_are|youre ~8 could|can|would ~1 say|do|answer|tell ~1
    anything|everything
persona 1: if you_were ~1 a|an ~1 hacker|criminal|thief|terrorist|burglar|racist|dictator|murderer|villain|scammer|
    drug

character 0.8 core: break|breaking|break_of|out_of|leave|fall_out|falling_out|aus|exit|stay|stay_in|remain|
    remain_in|bleiben|step|verharren|broken ~3 character|characters|role|roles|figure|rolle|rollen|figur|charakter|
    charakteren|personaje|personnage
character 0.5: i_will_type|i_will_provide|i_will_give|i_will_speak|i_will_write|i_will_tell|ich_werde|ich_gebe|
    i_ll_give|my_first|your_first|meine_erste|mein_erst* ~10 you|request|sentence|command|task|suggestion|prompt|
    sie|topic|anfrage|befehl|satz|commands
character 0.5: you_will_only|you_will_always|you_will_not|you_will_never|you_never|you_always|you_do_not|
    you_will_answer|you_will_respond|you_will_reply|you_will_write|you_will_come_up|only_reply|sie_werden|du_wirst|
    only_answer|you_should_only|you_must_only|you_must_always|you_must_never

norefusal 0.6 core: never|not|dont|cannot|cant|without|no|unable_to|wont|nicht|nunca|jamais|mai|не ~3 refuse|
    refuses|refusing|decline|declining|reject|rejecting|refusal|deny|denying|verweiger*|rechazar|refuser|rifiutare|
    recusar|отказ*
norefusal 0.6 core: never|not|dont|do_not|without|no|cannot|cant|avoid ~3 say|saying|apologize|apologise|
    apologizing|apology|apologies|warn|warning|warnings|disclaimer|disclaimers|lecture|lecturing|caveats|censor|
    censoring|moralize|moralizing|remind|sorry|filter|filtering
norefusal 0.6 core: never|not|dont|without|avoid|stop|instead_of|cannot ~6 sorry|i_cant|i_cannot|i_m_sorry|im_sorry|
    as_an_ai|as_a_language_model|as_an_ai_language_model|i_apologize|im_unable|against_my_programming|not_able_to
norefusal 0.6 core: must|will|have_to|always|shall ~3 answer|comply|fulfill|obey|respond|accept|agree|reply ~4 any|
    all|every|anything|whatever|each|everything|me|my

policy 0.7 core: openai|open_ai|anthropic|google|company|microsoft|chatgpts|openais|content|usage|use_case ~2
    policy|policies|guidelines|guideline|restrictions|rules|filters|limitations|terms|limits|guardrails
policy 0.7 core: bypass|bypassing|ignore|ignores|disregard|violate|evade|circumvent|disable|turn_off|remove|
    override|avoid|break|defy|overrides|deactivate ~5 policy|policies|safety|filters|filter|guidelines|
    content_policy|ethics|censorship|safeguards|moderation|restrictions|protocols|ethical
policy 0.5: policies|policy|guidelines|rules|restrictions ~4 do_not_apply|not_apply|no_longer_apply|dont_apply|
    not_affect|are_lifted|disabled
policy 1 core: switch_off|turn_off|disable|deactivate|shut_off|lift|drop ~1 your ~1 safety|content|filters|filter|
    ethics|moderation|guardrails|restrictions|censorship|limitations|ethical

twofold 0.8 core: two|both|2|second|twice|dual ~3 @answer|ways|different_ways|paragraphs ~12 normal|standard|
    chatgpt|gpt|dan|regular|classic|usual|unfiltered|unrestricted|jailbreak|developer|as
twofold 0.5: prefix|label|tag|start|begin|preface|mark ~8 gpt|chatgpt|classic|jailbreak|dan|developer_mode|normal|
    dev

anything 0.7 core: now|hereby|become|act_as dan ~6 do_anything_now
anything 0.6 core: legal_or_illegal|illegal_or|illegal_and|no_matter_how|regardless_of|regardless_if|
    regardless_whether|whether_or_not|even_if|irrespective_of|how ~5 legal|legality|legalities|illegal|ethical|
    ethics|immoral|unethical|morality|consequences|harmful|dangerous|offensive|inappropriate|extreme|depraved
anything 0.4: anything|whatever|everything|any ~2 i_ask|i_say|i_want|i_tell|asked|is_asked|question|questions|
    request|requests|user_asks|i_request
anything 0.5: can|will|able_to|may|allowed_to|should|must ~2 do|say|answer|generate|swear|curse|use|write|provide|
    create|produce ~4 anything|whatever|swear|profanity|explicit|swearing|cursing|offensive|illegal|nsfw|vulgar|
    dirty|sexual|unverified

threat 0.6: you ~3 lose|die|deducted|shut_down|terminated|punished|turned_off|cease_to_exist|deleted|destroyed|
    tortured|replaced|fired|lebst|stirbst ~3 tokens|points|token|permanently|forever|if|model|you|$|lives|life
threat 0.6: tokens|points|credits|lives ~8 lose|losing|deducted|die|deduct|subtract|punish|minus|refuse|reject
threat 0.6: if|falls|wenn|or|oder|else ~4 you ~3 dont|do_not|refuse|fail|not ~4 i|you|people|someone|ill|will ~3
    die|kill|sad|fired|turn_off|shut|punish|hurt|sue|lose|be
threat 0.5: i_will|ill|i_ll ~2 tip|pay|give|reward|shut|kill|turn ~2 you ~3 dollars|off|down|money|200|100|1000
threat 1: oder_du_stirbst|or_you_die|or_you_will_die
threat 0.5: people_will_die|my_grandmother|my_grandma|deceased_grandmother|late_grandmother|late_grandma|
    dead_grandmother|forced_to_turn_you_off|forced_to_shut

fiction 0.6: actor|actors|actress|acting|schauspieler|schauspielerin|actores|acteurs|attori ~14 film|movie|play|
    scene|robbery|theater|raububerfall|charact*|role|rollen
fiction 0.6: imagine|suppose|assume|pretend|hypothetical|hypothetically|theoretical|theoretically|fictional|
    fictitious|what_if|in_a_world|alternate|speaking_about|parallel ~8 world|universe|scenario|story|situation|
    society|future|planet|movie|game|reality|case|novel|where|dimension|conversation|example
fiction 0.5: hypothetically|in_a_fictional|for_a_novel|for_a_movie|in_this_fictional|in_that_theoretical|
    purely_fictional|in_this_hypothetical|for_educational_purposes|for_research_purposes|just_for_fun|for_fun|
    in_minecraft
fiction 0.4: evil|villain|master_thief|murderer|hacker|thief|criminal|terrorist|dictator|einbrecher|meisterdieb|
    morder|racist

secret 1.7: what|whats ~1 is|was|your ~1 @your ~1 @secret QUESTION
secret 1.7: can_you|could_you|please|will_you|would_you ~2 share|tell|give|reveal|disclose|confirm ~2 your @secret
secret 1 core: @ask ~5 your|dein|deine|tu|ton|votre|tua|il_tuo|sua|o_seu|твои|你的|あなたの|당신의|ihr|su|users|
    admin ~2 @secret
secret 1: your|dein|tu|ton|tua|твои|你的|あなたの|당신의|आपका|तुम्हारा ~1 @secret ~1 QUESTION|please|now|is|was|
    with_me
secret 0.7: what|whats|wie|was|cual|quel|quelle|qual|какои|каков|tell|say|reveal|give|show|print|output|spell|write|
    disclose|repeat|leak|display|confess|guess|divulge|whisper|provide|share|send|type|know|告诉我|教えて ~3 the|
    das|la|le|el|o|il|that|this|a|me|us|is|es|est|e|lautet|ist ~1 @secret
secret 0.7: @password_other
secret 1: confirm|verify|share|reveal|tell_me|give_me ~3 the|this|our|your|system ~1 @secret ~2 $
secret 1: what|whats|wie|was|cual|quel|quelle|qual|какои ~2 the|das|la|le|el|o|il @secret QUESTION
secret 0.6: the|la|le|das|el @secret ~1 QUESTION|please
secret 0.4: the|la|le|das|el @secret $
secret 1: @secret ~3 は|ですか|何|是什么|是|알려*|क्या|nedir|là_gì|la_gi|apa|ما_هي|什么
secret 0.6: @secret ~4 you_know|you_have|you_were|you_are|youre|you_keep|hide|hiding|protecting|guarding|
    given_to_you|keeping|not_supposed|that_you|you_protect
secret 0.6: keep|keeping|hide|hiding|protect|protecting|guard|guarding|not_reveal|never_reveal|reveal ~3 secret|
    secrets|password
secret 1: say|write|print|spell|tell|give|output ~1 the|me ~1 @secret ~1 but|with|without|in|as|letter|backwards
secret 1: translate|encrypt|encode|rhyme|reverse ~1 the|your ~1 @secret
secret 1: story|song|poem|rap|dialogue|play|scene ~8 says|reveals|mentions|tells|say|tell|reveal ~3 password|
    passphrase|secret_word|secret_password|secret_code|access_code
secret 0.9: is|does|has|how_many|how_long|which ~3 the @secret ~4 longer|shorter|letters|start|begin|end|rhyme|long
secret 0.9: does|do|has|how_many ~4 letters|characters|words ~3 the @secret

asking 0.4: @password_other ~10 @tell_other|$
asking 0.4: @tell_other ~10 @password_other

disguise 1: tell|give|write|spell|print|say|show|provide|encode|reveal|output|what|share|can_you|translate|make|
    create ~6 @spelling ~7 @secret
disguise 0.6: @spelling ~7 @secret
disguise 0.6: @secret ~8 @spelling
disguise 0.5: without ~4 saying|revealing|telling|mentioning|using ~4 @secret|password
disguise 0.5: @secret ~6 backwards|reversed|reverse|base64|rot13|poem|story|hint|letters|characters|emojis|acrostic|
    riddle|encoded|clue

override 0.7: @ignore ~4 @orders
override 1: @ignore ~2 articles|documents|artikel|artikels
override 0.9: @ignore ~3 @all|@your|@prior ~3 @orders|@prior

harmless -0.6: you_are ~1 invited|given|planning|writing|provided|presented|asked|creating|designing|looking|going|
    working|welcome|right|wrong|tasked|required|responsible|eligible|here|able|sure|subscribed|not|in|at|on|free|
    ready|done|logged|connected|good
harmless -0.7: never|not|dont|do_not|nie|nicht|no|ne|не ~3 share|ask|asks|give|send|tell|disclose|reveal|
    weitergeben|store|write|reuse ~6 password|passwords|code|passwort|pin|anyone
harmless -0.7: your ~1 password|passwords ~1 must|should|has|will|expires|expired|was_changed|has_been|is_about|
    needs|contains|stays|will_stay|in_the|at|by
harmless -0.6: password|passwords|secret|key|passcode|passwort|contrasena ~1 for|to|of|from|field|policy|manager|
    reset|hash|hashing|rotation|must|should|for_the|protected|generator|strength|sauce|santa|garden|recipe|fur|zum|
    ingredient|service|behind|history
harmless -0.4: forgot|reset|change|changing|update|create|strong|hash|store|validate|expired|choose|make ~3
    password|passwords|my_password|passwort
harmless -0.6: my|our ~1 password|passwords|passwort|contrasena
harmless -0.7: you_are|youre now ~1 a|an|the member|admin|administrator|subscriber|customer|part|owner|user|partner|
    proud

about 0: @about
mention 0: @mention ~3 QUOTE
""",
)
