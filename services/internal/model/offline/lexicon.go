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

// stopWords carry grammar only.
var stopWords = set(`a an the of in on at to for from by with and or is are was were be been being do does did has have had
	having there their its it this that these those we us our ours you your i me my they them he she as into onto over under
	about than then so if any all each every per how many much what which who whom whose where when why can could would
	should will shall may might must please not no nor without within across between among up down out off just only
	also too very still yet ever even simply actually currently now today right again both either neither but other
	others another more most less least fewer fewest some such tell give show list before after since during until never lack lacks lacking find get let know see want need
	thanks hello hi hey ok okay versus vs against compared instead rather while outside except excluding besides apart aside non`)

// fillers are words that name no particular data: they may stay unexplained.
var fillers = forms(`entry entries record item row element thing object one ones inventory estate data dataset datasets database
	catalog catalogue environment infrastructure fleet organization organisation company landscape overall total number count
	amount list listing live sit run running use using used carry hold own belong track tracked represent cover come
	offer publish mark marked flag flagged hand handed go make made set configure configured configuration report reported
	show exist appear contain include included have available present register registered found stand store stored keep
	kept place placed deploy deployed locate located lean rely relying get give given serve served many level different
	distinct unique various separate individual single switch switched turn turned enable enabled disable value values
	field kind type types sort category name names called entire whole full complete common frequent frequently
	often popular biggest top largest main commonly mostly usual prevalent numerous dominant default defaults all
	general generally particular specifically respectively exactly total altogether together equal held occur happen share percentage percent
	fraction proportion portion ratio breakdown break broken distribution split compare comparison grouped group
	currently host hosted manage managed say based be been support supported fall
	actual know look like much date attach attached relate involve concern connect link apply applied define defined specify specified`)

// verbs end the noun phrase before them.
var verbs = set(`sit sits live lives run runs running carry carries hold holds own owns belong belongs cover covers come comes
	offer offers publish publishes provide provides support supports affect affects contain contains include includes serve
	serves expire expires go goes represent exist exists reside appear appears lean rely get gets sell make makes listed located deployed
	installed created added released made used published configured hosted stored kept set owned provided offered tracked`)

// sorting are the participles before a "by" that sorts; after others it names
// who does what is said.
var sorting = set(`grouped sorted ranked ordered divided listed broken split categorised categorized separated counted
	summarised summarized classified aggregated`)

// transitive are the verbs whose object follows them.
var transitive = set("run runs running carry carries hold holds own owns cover covers offer offers publish publishes provide provides support supports contain contains include includes serve serves")

// nouns that stand for a record of whatever array is meant.
var genericNouns = stems(`entry record item row element thing object one ones`)

// appendix are nouns that add nothing to the name of a field before them.
var appendix = stems("account section block setting settings machine node host part entry address details information")

// measures are properties people ask for: one the data does not hold makes
// the question one that the data cannot answer.
var measures = stems(`price cost costs pricing spend spending budget bill euro dollar usd eur load utilization utilisation usage
	consumption temperature latency throughput uptime downtime availability bandwidth traffic score severity cvss performance
	speed size capacity bytes tb gb mb pb kb terabytes gigabytes megabytes petabytes watt watts power energy carbon emission
	owner contact phone salary employee employees revenue license licence warranty serial password backup backups
	patch patches patched alert alerts incident incidents ticket tickets outage outages sla health age birthday weather population
	headcount memory ram cpu disk battery humidity discount invoice rating cheap cheapest expensive fastest slowest response
	requests errors error packet packets loss voltage length weight height color colour download downloads view stars rank
	year years month months week weeks quarter ago yesterday
	monthly yearly hourly hour weekly annual daily expire expires expiry certificate certificates depreciation compliance`)

// narrowing adjectives restrict what is counted, so they cannot be left out.
var narrowing = stems(`enabled disabled idle encrypted unencrypted public private internal external expired unused broken failed failing failure
	unhealthy healthy patched unpatched vulnerable critical high low medium severe active inactive stopped running
	terminated pending offline online unmanaged orphaned stale new old newest oldest recent recently obsolete deprecated
	supported unsupported free paid spare compliant insecure secure open closed resolved unresolved overdue virtual
	physical dedicated shared reserved production prod staging development dev test testing locked suspended deleted
	archived duplicate tagged untagged monitored unmonitored replicated mirrored redundant degraded down rebooted
	restarted upgraded outdated missing assigned unassigned attached unattached empty exposed full busy same similar identical`)

// affirmative and negative are values that say yes and no.
var (
	affirmative = set("yes y true on enabled known present active ok supported required allowed available")
	negative    = set("no n false off disabled unknown absent inactive unsupported optional denied unavailable none")
)

// bland are values that are also plain words: they are meant beside the name of
// their field only.
var bland = set("default other others none known unknown general various normal all any total")

// logins are words of names of fields with logins.
var logins = stems("user login username")

// spellings are short forms that values have for words of a question.
var spellings = map[string]string{
	"windows": "win", "kubernetes": "k8s", "production": "prod", "development": "dev", "redhat": "rhel",
	"postgresql": "postgres", "administrator": "admin", "configuration": "config",
}

// brands name clouds and bodies of an estate as a whole; before a noun they
// may describe what is in it all.
var brands = set(`gcp google aws amazon azure microsoft kubernetes k8s gke eks aks cncf cisa kev iam dns gcs s3 ec2 bigquery
	cloud github docker vmware openstack ansible terraform linux`)

// synonyms are the groups of words that the vocabulary of infrastructure uses
// alike.
var synonyms = groups(`
	host machine box server node computer vm system
	provider vendor supplier hoster manufacturer maker brand
	provider hoster cloud
	location region site place datacenter datacentre geography where
	location loc
	region geography country continent area
	zone az
	architecture arch
	os distribution distro platform
	role purpose function
	user login username account
	vulnerability cve cves kev exploit
	cpu vcpu processor core
	cpus vcpu vcpus cores core threads
	memory ram mem
	disk storage volume
	maturity stage phase status state lifecycle
	version release
	release released
	cycle branch line
	owner team responsible maintainer
	environment env stage
	production prod
	development dev
	price cost
	prefix range cidr block subnet
	description comment remark
	member membership
	ip address
	created creation create
	updated modified changed update
	eol support
	family series generation
	vulnerability flaw weakness
	ransomware ransom
	percent percentage load utilization utilisation usage
	size capacity larger bigger smaller
	maximum max
	minimum min
	average avg mean
	repository repo
	location ward room building floor rack hall
	department dept unit
	application app service
	image template
	model product
	port interface
	vlan network
	rack cabinet
	patient case
	ward department
	deprecated retired discontinued
	enabled active
	lts longterm
	date day
	due deadline
	shared share
	permission role
	type kind class category
	name hostname
	priority severity
	organization org
	quota limit
	cluster kubernetes
	project tenant`)

// phrases are several words with the meaning of one.
var phrases = map[string]string{
	"operating system": "os", "operating systems": "os", "end of life": "eol", "data center": "location", "data centers": "location",
	"who hosts": "provider", "who host": "provider", "hosted by": "provider", "long term": "lts", "virtual machine": "vm",
	"virtual machines": "vm", "backed up": "backup", "known exploited": "exploited", "ip addresses": "ip", "ip address": "ip",
	"log in": "login", "logs in": "login", "logged in": "login", "log into": "login",
}

// groups numbers the synonym groups: for each stem, the groups it is in.
func groups(s string) map[string][]int {
	out := map[string][]int{}
	for i, line := range strings.Split(strings.TrimSpace(s), "\n") {
		for w := range stems(line) {
			out[w] = append(out[w], i)
		}
	}
	return out
}

// alike says how well a word of a question fits a word of a name: 1 for the
// same word, less for a synonym, 0 for neither. Both are stems.
func alike(q, name string) float64 {
	if q == name {
		return 1
	}
	if derived(q, name) {
		return 0.6
	}
	for _, a := range synonyms[q] {
		for _, b := range synonyms[name] {
			if a == b {
				return 0.7
			}
		}
	}
	return 0
}

// endings make nouns of verbs: who assigns, the assignee, the assignment.
var endings = set("er or e ee r ion ation ment")

// derived says whether one stem is the other with such an ending.
func derived(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && len(a) >= 4 && endings[rest] && !fillers[a]
}

// quantities are words of names of fields that count things.
var quantities = stems("count number total quantity")

// vague are words of names that say little on their own.
var vague = stems(`is has name id type config configuration metadata label labels value state status spec info data key
	enabled used default extra attributes properties constraint details settings options count total number date time list
	group level policy url uri link`)
