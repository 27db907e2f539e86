package offline

import "strings"

// set makes a set of the words of s.
func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// stems makes a set of the stems of the words of s.
func stems(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[stem(w)] = true
	}
	return out
}

// forms makes a set of the words of s and their inflections.
func forms(s string) map[string]bool {
	out := set(s)
	for _, w := range strings.Fields(s) {
		base := strings.TrimSuffix(w, "e")
		for _, form := range []string{w + "s", base + "ed", base + "ing", strings.TrimSuffix(w, "y") + "ies", strings.TrimSuffix(w, "y") + "ied"} {
			out[form] = true
		}
	}
	return out
}

// stops carry grammar only.
var stops = set(`a an the of in on at to for from by with and or i is are was were be been being do does did has have had
	having there their its it this that these those we us our ours you your my they them he she as into onto over under
	about than then so if any all each every per how many much what which who whom whose where when why can could would
	should will shall may might must please not no nor without within across between among up down out off just only
	also too very still yet ever even simply actually currently now today right again both either neither but other
	others another more most less least fewer fewest some such tell give show list before after since during until never
	lack lacks lacking find get let know see want need thanks hello hi hey ok okay me through here versus vs against compared
	instead rather while outside except excluding besides apart aside non ie`)

// fillers name no particular data: they may stay unexplained.
var fillers = forms(`entry record item row element thing anything object one inventory estate data dataset database
	catalog catalogue environment infrastructure fleet company landscape overall total number count
	amount listing live sit run use carry hold own belong track represent cover come came offer publish mark flag hand make made
	built set configure report show exist appear contain include available present register found stand stored keep kept place
	deploy locate base lean rely give given serve level different distinct unique various separate individual single switch turn
	enable disable value field kind type sort category name call entire whole full complete common frequent frequently often
	popular big top large main commonly mostly usual usually default exactly altogether together
	equal held occur happen share percentage percent fraction proportion portion breakdown break distribution split
	compare comparison group manage say support supply fall actual look like date attach relate involve concern connect link
	apply define specify host known unknown address location machine account benchmark setting information details
	install assign raise operate stay shown running flagged tagged go went`)

// states are fillers that narrow when it is asked what "is" so.
var states = set("enabled disabled available supported active running managed attached configured set open listed")

// adjectives narrow what the noun behind them means.
var adjectives = set(`same similar identical low lower high higher medium critical old older new newer recent stale missing spare free
	full empty busy idle obsolete broken weak strong wrong invalid valid private public internal external good bad slow fast
	cheap expensive big small large short long`)

// verbs end the noun phrase before them.
var verbs = set(`sit sits live lives run runs running carry carries hold holds own owns belong belongs cover covers come comes
	offer offers publish publishes provide provides support supports contain contains include includes serve serves went
	expire expires go goes represent exist exists appear appears lean rely get gets sell make makes listed located
	deployed installed created added released made used published configured hosted stored kept set owned provided tracked
	built joined cost based`)

// generics are nouns for a record of whatever array is meant.
var generics = stems("entry record item row element thing anything object one ones")

// platforms name what an estate may be of as a whole; before a noun they
// describe all of it.
var platforms = set("gcp google aws amazon azure microsoft kubernetes k8s cncf cisa iam dns cloud github docker vmware openstack linux")

// affirmative and negative are values that say yes and no.
var (
	affirmative = set("yes y true on enabled known present active ok supported required allowed available")
	negative    = set("no n false off disabled unknown absent inactive unsupported optional denied unavailable none")
)

// vague are words of names that say little on their own.
var vague = stems(`is has name id config configuration metadata label value state status spec info data key enabled used default extra
	attributes properties constraint details settings options count total number date time list group level policy url uri link year`)

// synonyms gives for each stem the groups of words, which names and questions
// use alike, that it is in.
var synonyms = groups(`host machine box server node computer vm system; provider vendor supplier hoster manufacturer maker brand make;
	provider hoster cloud; location region site place datacenter geography where branch depot city; region geography country area;
	location ward room building floor rack hall; zone az; architecture arch; os distribution distro platform; role purpose function job;
	user login username account; vulnerability cve kev exploit flaw weakness; cpu vcpu processor core; cpus vcpus cores threads;
	memory ram mem; disk storage volume; maturity stage phase status state lifecycle; version release released; cycle branch line;
	owner team responsible maintainer; environment env stage; price cost; prefix range cidr block subnet; description comment remark;
	created creation create built; updated modified changed update; family series generation; percent load utilization usage;
	size capacity larger bigger smaller; maximum max; minimum min; average avg mean; repository repo; department dept unit ward;
	application app service; image template; model product; port interface; rack cabinet; deprecated retired discontinued;
	enabled active; due deadline; permission role; type kind class category tier; name hostname; priority severity;
	organization org; quota limit; cluster kubernetes; project tenant`)

func groups(s string) map[string][]int {
	out := map[string][]int{}
	for i, line := range strings.Split(s, ";") {
		for w := range stems(line) {
			out[w] = append(out[w], i)
		}
	}
	return out
}

// short are forms that values and names have for words of a question.
var short = map[string]string{"windows": "win", "kubernetes": "k8s", "production": "prod", "development": "dev", "redhat": "rhel", "administrator": "admin"}

// numerals are numbers in words.
var numerals = map[string]string{
	"zero": "0", "one": "1", "once": "1", "two": "2", "twice": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "hundred": "100", "dozen": "12",
}

// endings make nouns of verbs: who assigns, the assignee, the assignment.
var endings = set("er or e ee r ion ation ment")

// alike says how well a word of a question fits a word of a name: 1 for the
// same word, less for a relative or synonym, 0 for neither. Both are stems.
func alike(asked, name string) float64 {
	if asked == name {
		return 1
	}
	base, long := asked, name
	if len(base) > len(long) {
		base, long = long, base
	}
	if rest, ok := strings.CutPrefix(long, base); ok && len(base) >= 4 && endings[rest] && !fillers[base] {
		return 0.6
	}
	for _, a := range synonyms[asked] {
		for _, b := range synonyms[name] {
			if a == b {
				return 0.7
			}
		}
	}
	return 0
}
