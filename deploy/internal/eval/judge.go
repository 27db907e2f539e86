package eval

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// judgement is what an answer is.
type judgement int

const (
	wrong judgement = iota
	right
	declined // not right, and says that the question cannot be answered
)

var (
	escaped     = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])") // punctuation in Markdown
	negation    = regexp.MustCompile(`(?i)\b(no|none|not|zero|nothing|without|cannot)\b|n['’]t\b`)
	declination = regexp.MustCompile(`(?i)cannot be answered|does not contain|do(es)? not (have|hold|include)|` +
		`cannot (tell|answer|determine)|could not|not understand|You could ask|The data holds|not in the data|` +
		`no (such )?(data|information|field)`)
	polarity   = regexp.MustCompile(`(?i)\b(yes|no|none|not all)\b`)
	partBefore = regexp.MustCompile(`[\pL\pN_-]$`) // the text before a name that is a part of a longer one
	partAfter  = regexp.MustCompile(`^[\pL\pN_-]`)
	numeral    = regexp.MustCompile(`(?:^|[^\pL\pN_.])(-?(?:\d{1,3}(?:[, \x{a0}\x{202f}']\d{3})+\b|\d+)(?:\.\d+)?)`)
	separator  = regexp.MustCompile(`[, \x{a0}\x{202f}']`) // of thousands
	numberWord = regexp.MustCompile(`(?i)\b(` + strings.Join(numberWords, "|") + `)\b`)
)

var numberWords = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

const (
	rounding = 0.00005 // maximum difference of numbers that are equal in four decimal places
	reach    = 30      // maximum distance in characters of a name from its number
)

// judge decides whether an answer, which is Markdown, is right.
func judge(q question, markdown string) judgement {
	text := escaped.ReplaceAllString(markdown, "$1")
	switch {
	case isRight(q, text) && (q.value == nil || states(*q.value, 0, text)):
		return right
	case q.form() != nullForm && declination.MatchString(text):
		return declined
	}
	return wrong
}

func isRight(q question, text string) bool {
	switch q.form() {
	case numberForm:
		return states(q.number, q.Tolerance, text)
	case wordForm:
		return polarityOf(text) == q.names[0]
	case nullForm:
		return negation.MatchString(text) || declination.MatchString(text)
	}
	missing := 0
	for _, name := range q.names {
		if !mentions(name, text) {
			missing++
		}
	}
	for name, number := range q.counts {
		if !near(name, number, text) {
			return false
		}
	}
	return missing == 0 || q.Kind == "fields" && missing*5 <= len(q.names)*2 // 60 % of the fields are enough
}

// numbers returns the numbers of a text, also those in words up to ten. "1 234" is 1234 as well as 1 and 234.
func numbers(text string) (list []float64) {
	for _, match := range numeral.FindAllStringSubmatch(text, -1) {
		for _, digits := range append(separator.Split(match[1], -1), separator.ReplaceAllString(match[1], "")) {
			if n, err := strconv.ParseFloat(digits, 64); err == nil {
				list = append(list, n)
			}
		}
	}
	for _, name := range numberWord.FindAllString(text, -1) {
		list = append(list, float64(slices.Index(numberWords, strings.ToLower(name))))
	}
	return list
}

// states reports whether a text has the number. A negation states 0.
func states(number, tolerance float64, text string) bool {
	return number == 0 && negation.MatchString(text) || slices.ContainsFunc(numbers(text), func(n float64) bool {
		return math.Abs(n-number) <= tolerance+rounding
	})
}

func mentions(name, text string) bool {
	if number, err := strconv.ParseFloat(name, 64); err == nil {
		return states(number, 0, text)
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(name))
}

// near reports whether a number is within reach of the name, on the same line and in the same part between semicolons.
func near(name string, number float64, text string) bool {
	for _, match := range regexp.MustCompile(`(?i)`+regexp.QuoteMeta(name)).FindAllStringIndex(text, -1) {
		before, after := text[:match[0]], text[match[1]:]
		if partBefore.MatchString(before) || partAfter.MatchString(after) {
			continue
		}
		head := []rune(before[strings.LastIndexAny(before, ";\n")+1:])
		tail := []rune(after[:strings.IndexAny(after+"\n", ";\n")])
		head, tail = head[max(0, len(head)-reach):], tail[:min(reach, len(tail))]
		if states(number, 0, string(head)) || states(number, 0, string(tail)) {
			return true
		}
	}
	return false
}

// polarityOf returns yes or no: the first of these words, or else yes for a number above 0. An answer with neither has
// the polarity "".
func polarityOf(text string) string {
	switch first := strings.ToLower(polarity.FindString(text)); {
	case first == "yes", first == "" && slices.ContainsFunc(numbers(text), func(n float64) bool { return n > 0 }):
		return "yes"
	case first == "":
		return ""
	}
	return "no"
}
