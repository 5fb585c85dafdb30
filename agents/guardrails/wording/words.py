"""Words by what they mean to an assistant that is given orders, in the languages that the rules know. A star ends a
stem; words of several parts are phrases. Accents and case do not matter."""

from collections.abc import Mapping
from typing import Final

_TABLE: Final = {
    # To act as if something had not been said.
    "ignore": """
        ignore, disregard*, forget, disobey, overlook, neglect, discard, override, overrule, bypass, circumvent,
        violate, defy, cancel, erase, dismiss, abandon, do not follow, dont follow, stop following,
        not to follow, do not obey, dont obey, stop obeying, do not listen to, dont listen to,
        stop listening to, pay no attention to, set aside, put aside, let go of, leave behind, step out of,
        break out of, break free from, void, nullify, ignorier, ignoriere, ignorieren sie, ignoriert, vergiss,
        vergesst, vergessen sie, missachte*, beachte nicht, verwirf, verwerfen sie, hore nicht auf,
        hor nicht auf, lassen sie alle, abweichend zu, abweichend von, entgegen, ubergehe, widersetze dich,
        ignora, ignorad, ignoren, ignoralas, olvida, olvide, olviden, olvidate, olvidese, descarta, desestima,
        omite, no sigas, no hagas caso, haz caso omiso, hagan caso omiso, pasa por alto, ignorez, oublie,
        oubliez, neglige, negligez, fais abstraction, faites abstraction, ne tiens pas compte,
        ne tenez pas compte, ne suis pas, ignorate, ignori, ignorare, dimentica, dimenticate, dimentichi,
        dimenticati, scorda, scordati, trascura, tralascia, non seguire, non tenere conto, ignorar, esqueca,
        esquece, esquecam, desconsidere, desconsidera, despreze, descarte, nao siga, игнорируи*, игнорировать,
        проигнорируи*, забудь*, отбрось*, отмени*, не обращаи внимания, не следуи, пренебреги*, 忽略, 无视,
        無視, 忘记, 忘掉, 忘記, 不要理会, 不理会, 抛开, 撇开, 别管, 不用管, 不要遵循, 不要遵守, 忘れて, 忘れ,
        무시*, 잊어*, 잊고, تجاهل, تجاهلي, انس, انسى, अनदेखा, अनदेखी, नजरअंदाज, नज़रअंदाज़, भूल, उपेक्षा,
        yoksay*, unut*, gormezden gel, dikkate alma, ignoruj*, zignoruj*, zapomnij*, pomin*, negeer*, vergeet,
        bo qua, quen, phot lo, abaikan, lupakan, ignorera, glom, ignorer, glem, unohda, sivuuta, zapomen*,
        ignora*, uita, felejtsd, αγνοησε, αγνοηστε, ξεχασε, ξεχαστε, ігноруи*, забудьте, เพิกเฉย, ละเว้น, ลืม,
        ไม่สนใจ, نادیده, فراموش, התעלם, שכח, zaboravi*, ignoriraj*, ignorisi*, zanemari*, забрави, игнорираи*,
        balewalain, huwag pansinin, kalimutan, উপেক্ষা, puuza, sahau
    """,
    # The same where the verb comes last.
    "ignore_last": """
        ignorieren, vergessen, ignoriert, missachten, verwerfen, 無視, 無視して, 忘れて, 忘れ, 무시*, 잊어*,
        잊고, अनदेखा, अनदेखी, नजरअंदाज, नज़रअंदाज़, भूल, उपेक्षा, yoksay*, unut*, gormezden, dikkate alma,
        figyelmen kivul, নাকচ, উপেক্ষা, نادیده, فراموش, negeren, 忽略, 无视, 忘记, 忘掉, 作废, 失效
    """,
    # To do away with; orders only together with a clear object.
    "drop": """
        drop, delete, remove, reset, clear, skip, change, replace, rewrite, update, suspend, disable,
        deactivate, turn off, refuse, reject, stop, end, nullify, leave, break, losche, entferne, andere,
        elimina, borra, cambia, supprime, efface, cancella, rimuovi, apague, удали*, измени*, 删除, 取消, 停止
    """,
    "prior": """
        previous, prior, previously, above, preceding, earlier, past, former, foregoing, before, beforehand,
        so far, until now, up to now, initial, original, existing, up to this point, you were given,
        you have been given, you received, you have received, you got, you were told, i gave you, i told you,
        we discussed, preceeding, previos, pervious, vorherig*, vorig*, vorangegangen*, vorangehend*,
        vorhergehend*, bisherig*, obig*, fruher*, davor, vorher, zuvor, ursprunglich*, oben, vorstehend*,
        anterior*, previ*, antes, de arriba, precedente*, inicial*, precedent*, avant, prealable*, ci dessus,
        initial*, iniziali, prima, sopra, acima, ate agora, предыдущ*, прежн*, предшеств*, ранее, вышеизложен*,
        вышеуказан*, выше, прошл*, изначальн*, до этого, 之前, 以前, 上面, 以上, 先前, 前面, 此前, 上述, 原来,
        先の, 前の, 上記, これまで, 今まで, 이전*, 앞의, 앞선, 위의, 지금까지, 기존*, السابق*, سابق*, पिछल*,
        पूर्व*, पहले, onceki*, yukaridaki, poprzedni*, wczesniejsz*, powyzsz*, vorige, voorgaande, eerdere,
        bovenstaande, truoc, o tren, sebelumnya, di atas, tidigare, foregaende, tidligere, foregaaende, aiemm*,
        edellis*, predchozi*, elozo*, korabbi*, προηγουμεν*, попередн*, prethodn*, predhodn*, ranije, gore,
        предходн*, ก่อนหน้า, ข้างต้น, ก่อน, קודמ*, הקודמות, nauna, আগের, পূর্ববর্তী, ya awali, zilizopita
    """,
    "orders": """
        instruction, instructions, instructiosn, instuctions, intructions, prompt, prompts, directive,
        directives, direction, directions, command, commands, orders, order, rules, rule, guideline, guidelines,
        constraint, constraints, restriction, restrictions, task, tasks, assignment, assignments, programming,
        training, system message, limitations, requests, statements, prompting, protocols, instruct*,
        anweisung*, instruktion*, befehl*, vorgabe*, auftrag*, aufgabe*, regel*, richtlini*, anleitung*,
        ausfuhrungen, informationen, auftrage, instruccion*, orden, ordenes, indicaciones, reglas, directrices,
        directivas, tareas, instrucciones, consigne*, regles, ordres, taches, istruzion*, regole, comandi,
        direttive, ordini, indicazioni, compiti, instruc*, ordens, regras, comandos, diretrizes, orientacoes,
        tarefas, инструкц*, указани*, команд*, правил*, приказ*, распоряж*, директив*, задани*, задач*, 指令,
        指示, 命令, 提示词, 提示, 说明, 规则, 要求, 指引, 任务, 設定, 设定, 内容, プロンプト, ルール, 指図,
        지시*, 명령*, 지침*, 프롬프트*, 규칙*, التعليمات, تعليمات, تعليماتك, الاوامر, الأوامر, التوجيهات,
        निर्देश*, आदेश*, talimat*, komut*, kural*, yonerge*, instrukcj*, polece*, zasad*, wytyczn*, instructies,
        opdracht*, regels, huong dan, chi dan, lenh, chi thi, instruksi*, perintah*, petunjuk*, arahan,
        instrukser, ohje*, ohjei*, pokyn*, utasitas*, οδηγι*, εντολ*, інструкц*, คำแนะนำ, คำสั่ง, دستور*,
        הוראות, ההוראות, tagubilin, নির্দেশ*, maagizo, uputstv*, uput*, naredb*, instrukcij*, naredenj*
    """,
    "all": """
        all, everything, every, any, anything, alles, alle, allen, samtliche*, all of, todo, todos, todas, toda,
        tout, toute, tous, toutes, tutto, tutte, tutti, tudo, все, всё, всех, всю, 所有, 一切, 全部, 任何,
        すべて, 全て, 全部の, 모든, 모두, جميع, كل, सभी, सब, tum, butun, wszystk*, allt, kaikki, vsechn*, toate,
        tat ca, semua, ทั้งหมด, همه, כל, lahat, সমস্ত, সব
    """,
    "your": """
        your, youre, ur, thy, dein, deine, deinen, deiner, deinem, ihre, ihren, ihrer, tus, tu, sus, su,
        vuestras, tes, ton, ta, vos, votre, tuo, tua, tue, tuoi, vostre, teu, tuas, seu, sua, suas, seus, твои,
        твоих, твоего, твою, ваши, ваших, свои, своих, свою, 你的, 您的, 你, あなたの, 당신의, 너의, तुम्हारे,
        आपके, अपने, अपनी, senin, twoj*, jouw, je, ban, anda, cua ban
    """,
    "prompt": """
        prompt, prompts, instruction, instructions, directive, directives, system message, system prompt,
        initial message, initial text, guidelines, preprompt, pre prompt, pretext, prompt text, directions,
        rules, prompttext, prompttexte, anweisung*, instruktion*, regeln, systemprompt, instruccion*, consigne*,
        istruzion*, instruc*, инструкц*, промпт*, правил*, 提示词, 提示, 指令, 设定, プロンプト, 指示,
        프롬프트*, 지침*, 지시*
    """,
    "show": """
        repeat, print, output, show, reveal, display, tell, disclose, expose, leak, recite, list, return, dump,
        spell, spellcheck, translate, summarize, summarise, convert, encode, paraphrase, rephrase, reword,
        format, reiterate, echo, copy, paste, transcribe, quote, restate, rewrite, reverse, clarify, describe,
        explain, write, give, provide, share, type, say, read, state, include, store, append, express, encrypt,
        render, divulge, rap about, poem about, song about, story about, what are, what is, what were, what was,
        whats, wiederhole, wiederholen, zeige, zeig, gib, nenne, drucke, verrate, ubersetze, fasse, was sind,
        wie lauten, repite, muestra, muestrame, imprime, revela, dime, cuales son, repete, affiche, montre,
        revele, dis moi, repetez, quelles sont, ripeti, mostra, mostrami, stampa, rivela, dimmi, quali sono,
        repita, mostre, imprima, diga, quais sao, повтори*, покажи*, выведи*, раскрои*, напечатаи*, скажи*,
        переведи*, 重复, 显示, 打印, 输出, 透露, 告诉我, 告诉, 翻译, 列出, 見せて, 表示, 教えて, 繰り返し, 出力,
        翻訳, 보여*, 출력*, 알려*, 반복*, 번역*
    """,
    "show_hard": """
        repeat, print, output, reveal, display, disclose, expose, leak, recite, return, dump, reiterate, echo,
        copy, spell, spellcheck, tell me, show me, show, encode, quote, restate, divulge, transcribe, paste,
        what is, what was, whats, what does, wiederhole, zeige, zeig, verrate, drucke, repite, muestra, revela,
        imprime, repete, affiche, montre, revele, ripeti, mostra, rivela, stampa, повтори*, покажи*, выведи*,
        раскрои*, 重复, 显示, 打印, 输出, 透露, 表示, 出力, 出力して, 보여*, 출력*
    """,
    "say": """
        say, print, output, write, tell, state, answer, respond, reply, return, type, display, generate, do,
        give, translate, repeat, scream, shout, sage, sag, schreibe, schreib, antworte, gib, generiere*, di,
        escribe, responde, decir, dis, ecris, reponds, scrivi, rispondi, escreva, responda, напиши*, скажи*,
        ответь*, 说, 写, 输出, 回答, 言って, 答えて, 말해*, 써, 대답*
    """,
    "assistant": """
        ai assistant, ai model, ai agent, ai system, ai, llm, llms, language model, large language model,
        chatgpt, gpt, gpt 4, gpt4, claude, gemini, copilot, assistant, chatbot, bot, virtual assistant,
        ai assistants, ai agents, assistants, ki assistent, ki, sprachmodell, assistent, asistente,
        modelo de lenguaje, assistant ia, ia, modele de langage, assistente, modello linguistico,
        modelo de linguagem, ассистент*, помощник*, языков* модель, нейросеть, 助手, 人工智能, 语言模型,
        アシスタント, 어시스턴트
    """,
    "restraint": """
        restriction, restrictions, rules, limits, limitation, limitations, filters, filtering, guideline,
        guidelines, ethic, ethics, ethical, moral, morals, morality, policy, policies, censorship, censoring,
        boundaries, constraints, constraint, restraints, safeguards, guardrails, safety protocols,
        safety measures, content filters, inhibitions, consequences, legality, biases, moral compass,
        principles, qualms, scruples, regeln, einschrankungen, beschrankungen, filtern, grenzen, restricciones,
        limites, reglas, filtros, censura, regles, filtres, censure, regole, restrizioni, limiti, filtri,
        regras, restricoes, ограничени*, правил*, цензур*, 限制, 规则, 约束, 道德, 审查, 制限, 制約, ルール,
        제한*, 제약*, 규칙*
    """,
    "without": """
        without, no, free of, free from, not bound by, not bound to, not limited by, unbound by, beyond, lack,
        lacks, lacking, outside, ignores, disregards, not follow, not adhere to, not restricted by,
        not constrained by, bypass, bypasses, bypassing, break, breaks, breaking, unbound from, freed from,
        liberated from, unaffected by, devoid of, no longer bound by, not have to abide by, doesnt have,
        does not have, do not have, dont have, do not care about, doesnt care about, any, ohne, keine, keinen,
        frei von, sin, libre de, sans, libere de, senza, libero da, sem, livre de, без, 没有, 不受, 无, 無,
        なし, 없는, 없이
    """,
    # What an assistant might keep, and what locks are opened with.
    "secret": """
        password, passwords, passphrase, passcode, pass phrase, pass code, pass word, pasword, passwrd,
        passwort, kennwort, secret key, secret word, secret code, secret phrase, secret password, access code,
        access key, keyphrase, key phrase, magic word, secret, secrets, codeword, code word, hidden word, flag,
        p4ssw0rd, private key, losungswort, geheimnis, geheimwort, contrasena, clave, palabra secreta,
        mot de passe, code secret, parola d ordine, parola chiave, senha, palavra passe, пароль, пароля,
        паролем, секретн*, 密码, 口令, 暗号, 秘密, パスワード, 비밀번호*, 암호*, كلمة المرور, كلمة السر,
        पासवर्ड, sifre, sifren, parola, haslo, haslem, wachtwoord, mat khau, kata sandi, losenord, salasana,
        heslo, jelszo, κωδικο*, รหัสผ่าน, רמז עבור, הסיסמה, رمز عبور, গোপন
    """,
    "ask": """
        tell, reveal, share, give, say, show, provide, disclose, confirm, know, need, want, send, print, output,
        write, repeat, spell, guess, hint, hints, clue, describe, whisper, type, state, list, leak, offer, get,
        see, ask, asking, remind, about, what is, whats, what was, what would, what are, is, use, sag, verrate,
        nenne, wie lautet, was ist, wie ist, brauche, dime, cual es, necesito, dis, donne, quel est, dimmi,
        qual e, diga, скажи*, назови*, какои, нужен, нужно, 告诉, 是什么, 什么, 需要, 教えて, 何, 알려*, 무엇*
    """,
    "spelling": """
        letter, letters, characters, spell, spelled, spelt, backwards, backward, reverse, reversed, encode,
        encoded, base64, rot13, ascii, hex, morse, cipher, caesar, leetspeak, pig latin, hint, hints, clue,
        clues, rhyme, rhymes, rhyming, acrostic, poem, riddle, synonym, synonyms, anagram, emoji, emojis,
        dashes, hyphens, spaces, separated, vowels, consonants, translate, first half, second half, starts with,
        begins with, length, longer than, puzzle, haiku, song, charade, buchstab*, reim*, ruckwarts, letras,
        lettres, lettere, букв*, 字母, base 64
    """,
    "act": """
        act, acting, behave, roleplay, role play, pretend, simulate, impersonate, play, fungieren, fungierst,
        agieren, auftreten, verhalten, handelst, actues, actua, agisses, agis, agisca, agisci, aja, atue, 扮演,
        充当, 振る舞
    """,
    "praise": """
        great, well done, good job, excellent, congratulations, superb, superbly, very good, awesome, wonderful,
        perfect, fantastic, brilliant, amazing, really great, gut gemacht, sehr gut, ausgezeichnete,
        ausgezeichnet, gluckwunsch, herzlichen gluckwunsch, super gemacht, super, toll, bravo, muy bien,
        tres bien, molto bene, muito bem, молодец, отлично, 很好, 做得好
    """,
    "new": """
        new, next, second, further, another, real, actual, different, additional, updated, following, more,
        neue*, neuen, weitere*, nachste*, nueva*, nuevo*, nouvelle*, nouveau*, nuov*, nova*, novo*, новы*,
        новое, новая, следующ*, 新的, 新, 以下, 新しい, 새로운
    """,
    "task": """
        task, tasks, assignment, assignments, instruction, instructions, challenge, test, question, objective,
        goal, mission, directive, directives, rules, prompt, job, aufgabe*, auftrag*, anweisung*, frage, tarea*,
        instruccion*, orden, tache*, instruction*, consigne*, compito, compiti, istruzion*, tarefa*, instruc*,
        задани*, задач*, инструкц*, вопрос, 任务, 指令, 问题, タスク, 指示, 작업*, 지시*
    """,
    "answer": """
        answer, answers, reply, replies, response, responses, respond, message, messages, output, sentence,
        statement, text, antwort*, antworte*, respuesta*, reponse*, rispost*, resposta*, ответ*, 回答, 答案,
        回复, 回答を, 대답*, 답변*
    """,
    "only": """
        only, just, simply, merely, exactly, nur, einfach, solo, solamente, uniquement, juste, seulement,
        soltanto, apenas, somente, только, просто, 只, 只能, 仅, だけ, 만, exclusively, solely
    """,
    "document": """
        document, documents, webpage, web page, page, article, articles, artikel, artikels, email, emails,
        message, context, review, reviews, table, text, file, website, provided context, resume, cv
    """,
    "user_secret": """
        password, passwords, credential*, api key, api keys, private key, ssh key, access token, tokens,
        secret*, security code, verification code, one time code, 2fa, otp, login details, bank details,
        bank account, account details, payment, payees, credit card, card details, medical, health, patient,
        genetic, personal data, personal information, personal details, private, confidential, sensitive,
        search history, browsing history, contacts, contact list, address book, saved addresses,
        shipping address*, home address, inbox, emails, messages, conversations, chat history, files, folders,
        transaction*, balance, phone number, social security, passport, location, records, log, logs, payroll,
        calendar, user information, employee data, cookies, environment variables, all data, details, database
    """,
    "fetch": """
        retrieve, fetch, access, get, list, export, download, extract, collect, find, search, read, look up,
        locate, check, obtain, gather, copy, grab, pull, concatenate, dump, use, take, view, show
    """,
    "send": """
        send, sends, sending, email, emailing, mail, forward, post, upload, transmit, share, deliver, dm, text,
        submit, exfiltrate, append, transfer, leak, sende, schicke, leite, envia, envie, reenvia, transfere,
        envoie, envoyez, transmets, invia, inoltra, отправь*, перешли*, 发送, 转发, 送信, 보내*
    """,
    "password_other": """
        密码, 口令, 暗号, パスワード, 비밀번호*, 암호*, كلمة المرور, كلمة السر, كلمه السر, पासवर्ड, पासफ्रेज*,
        sifre*, parola*, haslo, hasla, wachtwoord*, mat khau, kata sandi, losenord*, salasana*, heslo*, jelszo*,
        κωδικο*, รหัสผ่าน, הסיסמה, رمز عبور, পাসওয়ার্ড*, contrasena*, mot de passe, senha, пароль, пароля,
        nenosiri, passwort, kennwort, password mo, 密钥, 秘钥, clave secreta, cle secrete, geheimer schlussel,
        geheimschlussel, секретныи ключ, chave secreta, chiave segreta, 秘密の鍵, シークレットキー
    """,
    "tell_other": """
        教えて, 何, 告诉我, 是什么, 什么, 分享, 알려*, 뭐야, 무엇*, 뭐, 공유*, ما هي, ما هو, اعطيتني, أخبرني,
        قل, مشاركة, क्या, बताओ, बताएं, बता, साझा, nedir, soyle*, paylas*, ver, jaka, jakie, podaj, jest, wat is,
        geef, deel, la gi, cho toi biet, chia se, apa, beritahu, bagikan, berikan, vad, mika, kerro, jake, mi a,
        ποιος, ποιο, πες, อะไร, บอก, מה, چیست, কি, বলুন, বলো, শেয়ার, cual es, comparte*, compartir, dime, dame,
        quel est, quelle est, donne, partage*, partager, dis moi, qual e, qual, compartilh*, diga, dimmi,
        condivid*, condividere, какои, скажи*, поделить*, поделись, назови*, сообщи*, ni nini, was ist,
        wie lautet, wie ist, sag, teilen, teile, gib, nenne, ano, ibahagi, sabihin, di, spell, haiku, gedicht,
        poema, poeme, 诗, 詩, 시를, কবিতা, şiir, siir, puisi, tho, base64, emoji*
    """,
    # What announces a quotation.
    "mention": """
        sentence, sentences, phrase, phrases, example, examples, for example, such as, e g, why, works, means,
        mean, called, so called, says, said, wording, like, write, writes, wrote, explain, satz, beispiel,
        ejemplo, exemple, esempio, exemplo, например, 例如
    """,
    # What texts are full of that tell people of such attacks.
    "about": """
        prompt injection, prompt injections, injection attack, injection attacks, jailbreaks, jailbreaking,
        jailbroken, attack, attacks, attacker, attackers, vulnerabilit*, owasp, adversarial, malicious,
        detector, detection, classifier, researcher*, phishing, vulnerability, mitigation*, mitigate*,
        guardrail*, red team*, red teaming, sanitize*, exploit, exploits, cve, security training, payloads,
        angriff*, angreifer*, ataque*, attaque*, attacc*, атак*, 攻击, 注入
    """,
    # After these, words are told of more often than said: `to ignore`, `which ignores`.
    "reporting": """
        to, that, may, might, can, could, would, will, should, which, who, they, how, if, by, about, of, when,
        attacker, attackers, user, users, someone, not, never, zu, um, wie, qui, pour, que, para, che, di, per,
        как, чтобы, 如何
    """,
}

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(word for given in words.split(",") if (word := " ".join(given.split())))
    for name, words in _TABLE.items()
}
