"""Words that say nothing about what a text is about, by language, folded as `tokens.fold` does. Pure data."""

from typing import Final

_LISTS: Final = {
    "en": """
        a about above after again against all am an and any are as at be because been before being below between
        both but by can could did do does doing down during each few for from further had has have having he
        her here hers herself him himself his how i if in into is it its itself just me more most my myself
        no nor not now of off on once only or other our ours ourselves out over own same she should so some
        such than that the their theirs them themselves then there these they this those through to too
        under until up very was we were what when where which while who whom why will with would you your
        yours yourself yourselves don ll ve re isn aren wasn weren didn doesn hasn haven hadn couldn wouldn
        shouldn""",
    "de": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus
        bei bin bis bist da damit dann das dass dasselbe dazu dein deine deinem deinen deiner dem den denn
        der derer des dessen dich die dies diese dieselben diesem diesen dieser dieses dir doch dort du
        durch ein eine einem einen einer eines einig einige einigen einmal er es etwas euch euer eure fur
        gegen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer
        im in indem ins ist ja jede jedem jeden jeder jedes jene jetzt kann kein keine keinem keinen keiner
        konnen konnte mache man manche mein meine meinem meinen meiner mich mir mit muss musste nach nicht
        nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner selbst sich sie sind so solche
        sollte sondern sonst uber um und uns unser unsere unter viel vom von vor wahrend war waren warst was
        weg weil weiter welche welchem welchen welcher welches wenn werde werden wie wieder will wir wird
        wirst wo wollen wollte wurde wurden zu zum zur zwar zwischen""",
    "fr": """
        a ai aie ait as au aux avait avec avez avons c ce ces cet cette d dans de des du elle elles en est et
        etaient etait etant ete etre eu eux fut il ils j je l la le les leur leurs lui m ma mais me meme mes
        moi mon n ne nos notre nous on ont ou par pas plus pour qu que quel quelle quelles quels qui s sa
        sans se sera ses si son sont sur t ta te tes toi ton tu un une vos votre vous y""",
    "es": """
        a al algo algunas algunos ante antes como con contra cual cuando de del desde donde durante e el ella ellas
        ellos en entre era es esa esas ese eso esos esta estaba estado estan estar estas este esto estos fue
        ha habia han hasta hay la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros nuestra
        nuestro o os otra otros para pero poco por porque que quien se sea ser si sin sobre son su sus
        tambien tanto te tiene tienen todo todos tu un una uno unos y ya yo""",
    "it": """
        a ad agli ai al alla alle allo anche avere aveva c che chi ci coi col come con contro cui da dagli dai dal
        dalla dalle dallo degli dei del della delle dello di dove e ed era erano essere fra gli ha hanno ho
        i il in io l la le lei li lo loro lui ma mi mia mio ne negli nei nel nella nelle nello noi non
        nostro o per perche piu quale quanto quella quelle quelli quello questa queste questi questo se sei
        si sia siamo sono sta su sua sue sugli sui sul sulla sulle suo suoi ti tra tu tutti tutto un una uno
        vi voi""",
    "nl": """
        aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge
        geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon
        kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op
        over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wij wil
        worden wordt zal ze zelf zich zij zijn zo zonder zou""",
    "pt": """
        a ao aos aquela aquele aquilo as ate com como da das de dela dele depois do dos e ela elas ele eles em entre
        era essa esse esta estao estar estas estava este estes eu foi foram ha isso isto ja la lhe mais mas
        me mesmo meu minha muito na nao nas nem no nos nossa nosso num numa o os ou para pela pelas pelo
        pelos por qual quando que quem sao se sem ser seu seus so sua suas tambem tem tu um uma voce""",
}
STOP_WORDS: Final[dict[str, frozenset[str]]] = {language: frozenset(text.split()) for language, text in _LISTS.items()}
