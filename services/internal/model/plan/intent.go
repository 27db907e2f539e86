package plan

import (
	"strconv"
	"strings"
)

// Intent is what a question asks for, by its English function words. A question in another language has none, and its
// statement says all that the results have.
type Intent struct {
	Names bool // which, who, list
	Count bool // how many
	YesNo bool // is, are, does
	All   bool // are all, does every
	Share bool // share, percentage
	Total bool // total, sum
	Mean  bool // average
	Much  bool // how much
	Top   bool // most, least, top
	Least bool
	Limit int    // of the top; 0: one
	Unit  string // "in GB"
}

func readIntent(q *Question) (i Intent) {
	for position, w := range q.words {
		next := q.low(position + 1)
		switch w.low {
		case "which", "who", "list", "whose", "what":
			i.Limit = max(i.Limit, number(next))
			i.Names = i.Names || w.low != "what" && !(w.low == "which" && q.low(position-1) == "in")
		case "many", "number", "count":
			i.Count = i.Count || w.low != "many" || q.low(position-1) == "how"
		case "all", "every", "each":
			i.All = i.All || position == 1 && w.low != "each"
		case "share", "percentage", "percent", "fraction", "proportion", "%":
			i.Share = true
		case "total", "sum", "altogether":
			i.Total = true
		case "average", "mean", "avg":
			i.Mean = true
		case "top":
			i.Top = true
			i.Names = i.Names || position == 0
			i.Limit = max(i.Limit, number(next))
		}
		if w.low == "in" && units[next] {
			i.Unit = q.words[position+1].text
		}
		i.rank(q, position)
		if n := number(w.low); n > 1 && i.Limit == 0 && lexicon.superlatives[next] {
			i.Limit = n
		}
	}
	i.Much = q.low(0) == "how" && q.low(1) == "much"
	if len(q.words) > 0 {
		i.YesNo = auxiliaries[q.words[0].low] && !i.Count
	}
	i.Names = i.Names && !i.Count || i.Names && i.Top
	return i
}

var (
	leasts      = set(strings.Fields("fewest least lowest smallest minimum oldest earliest shortest"))
	auxiliaries = set(strings.Fields("is are was were do does did has have had can any"))
	units       = set(strings.Fields("b kb mb gb tb pb kib mib gib tib ki mi gi ti bytes"))
)

// rank notes a superlative.
func (i *Intent) rank(q *Question, position int) {
	low := q.low(position)
	if !lexicon.superlatives[low] || q.low(position-1) == "at" || low == "ago" {
		return
	}
	i.Top = true
	i.Names = i.Names || q.low(0) == "what" && q.low(position+1) != "number"
	i.Least = i.Least || leasts[low] || low == "longest" && q.has("ago")
}

// number returns the number of a numeral; 0 if the word is none.
func number(low string) int {
	if digits := lexicon.numerals[low]; digits != "" {
		low = digits
	}
	n, err := strconv.Atoi(low)
	if err != nil {
		return 0
	}
	return n
}
