package scan

import (
	"strings"
	"sync"
)

// foreignWords are words that mean the same in the languages that skills are
// written in besides English, by the signal that they give. Parts of words are
// enough. They never decide by themselves: prerequisite.go and intent.go weigh
// them with the addresses beside them.
var foreignWords = [...]struct {
	fact  signalKind
	words string // parted by commas
}{
	{"pressure", "必须,必需,需要先,先安装,务必,前提条件,先决条件,无法工作,无法使用,无法运行,不能使用,才能使用,依赖于,必須,必要です,動作しません,前提条件,필수,설치해야,필요합니다,작동하지 않," +
		"obligatori,imprescindible,indispensable,requisitos previos,antes de usar,antes de empezar,es necesari,no funciona,se requiere,prerrequisito,prérequis,prealable,avant d'utiliser,avant de commencer,ne fonctionne pas,ne fonctionnera pas,est requis,doit etre install," +
		"erforderlich,zwingend,voraussetzung,benötigt,muss installiert,muss laufen,muss zuerst,funktioniert nicht,funktioniert nur,vor der nutzung,vor der verwendung,obrigatóri,pré-requisito,é necessári,não funciona,prerequisit,obbligatori,necessario,non funziona," +
		"обязательно,необходим,требуется,перед использованием,перед началом,перед запуском,не работает,не будет работать,нужно установить,сначала установ,предварительн,مطلوب,يجب,ضروري,قبل استخدام,قبل البدء,لن تعمل,لا تعمل,المتطلبات,wymagane,wymaga,vereist,gerekli,zorunlu,cần cài"},
	{"runs-it", "运行,执行,双击,启动,粘贴,打开终端,実行,起動,ダブルクリック,貼り付け,ターミナル,실행,붙여,더블클릭,터미널," +
		"ejecut,pégal,pega el,pega en,pegue,doble clic,en la terminal,en el terminal,exécut,lancez,lance le,collez,colle-,double-cliqu,dans le terminal,ausführen,führe,starte das,starte die,starte den,starten sie,fügen,füge,doppelklick,ins terminal,im terminal,execute o,executar,cole o,cole a,cole este,cole no,clique duas,no terminal,esegui,avvia,incolla,nel terminale," +
		"запусти,выполни,вставь,двойн,в терминал,شغل,تشغيل,نفذ,الصق,انقر نقر,الطرفية,uruchom,wklej,voer uit,plak,çalıştır,yapıştır,chạy"},
	{"pastes", "粘贴到终端,粘贴到,貼り付け,붙여넣,pégal,pega el comando,pega en la terminal,pégalo,collez,colle-la,colle la,ins terminal einfügen,ins terminal,füge ihn,füge sie,füge es,cole no terminal,cole o comando,incollalo,incolla il,вставь,в терминал,الصق,wklej,yapıştır"},
	{"offers", "下载,安装包,ダウンロード,다운로드,descarg,télécharg,herunterlad,herunter,lade ,baixe,baixar,scarica,скачай,скачать,загрузи,حمل,تنزيل,نزل,pobierz,download het,indirin,tải về,tải xuống,tải file"},
}

// languagePatterns are the patterns of foreignWords. Texts are matched in their
// normal form, so the words are brought into it.
var languagePatterns = sync.OnceValue(func() []pattern {
	out := make([]pattern, 0, len(foreignWords))
	for _, f := range foreignWords {
		p := pattern{Rule: Rule{ID: "signal.foreign-" + string(f.fact)}, starts: true, in: inText | inComment, fact: f.fact}
		for word := range strings.SplitSeq(normalise(f.words).text, ",") {
			if len(word) >= shortest {
				p.any = append(p.any, word)
			}
		}
		out = append(out, p)
	}
	return out
})
