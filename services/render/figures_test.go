package render_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"cairn/schemas"
)

// also returns r with a further call.
func also(r schemas.Rendering, input, result string) schemas.Rendering {
	second := analysis("", input, result)
	r.ToolUses = append(r.ToolUses, second.ToolUses...)
	r.ToolResults = append(r.ToolResults, second.ToolResults...)
	return r
}

// after returns r with text in the history.
func after(r schemas.Rendering, text string) schemas.Rendering {
	r.Prompt = &schemas.Prompt{M: map[string]schemas.Utterance{"0": {R: 0, C: "q"}, "1": {R: 1, C: text}}}
	return r
}

// forReader returns r with a profile.
func forReader(r schemas.Rendering, profile string) schemas.Rendering {
	r.Profile = jsontext.Value(profile)
	return r
}

const (
	unpatched       = `{"data_key":"hosts","group_by":"site","filter":{"patched":false}}`
	unpatchedSites  = `{"groups":{"fra1":100,"lon1":2},"total":102}`
	unpatchedAnswer = "unpatched by site:\n- fra1: 100\n- lon1: 2"
	averages        = `{"data_key":"hosts","group_by":"site","metrics":["avg:cpu"]}`
	averageSites    = `{"groups":{"lon1":91.23456,"fra1":0.0004},"total":12.5}`
	sitesAnswer     = "1609 hosts by site:\n- fra1: 1600\n- lon1: 9"
)

// answers returns analyses whose figures a renderer could drop.
func answers() map[string]schemas.Rendering {
	both := also(analysis(unpatchedAnswer, unpatched, unpatchedSites), bySite, sites)
	percent := analysis("Sites whose hosts average most CPU:\n- lon1: 91 %\n- fra1: 12 %", bySite, sites)
	average := analysis("The average is 12.5; by site:\n- lon1: 91.235\n- fra1: 0.0004", averages, averageSites)
	broad := analysis(sitesAnswer, bySite, sites)
	broad.Mode = schemas.ModeBroad
	return map[string]schemas.Rendering{
		"a list and its table":                    analysis(sitesAnswer, bySite, sites),
		"two calls with different filters":        both,
		"the same in German, as plain text":       forReader(both, `{"language":"de","format":"plain"}`),
		"two tables, one in the history":          after(both, unpatchedTable),
		"a list and a table of other groups":      analysis(unpatchedAnswer, bySite, sites),
		"a list and a table with some equal rows": analysis("new by site:\n- fra1: 100\n- lon1: 9", bySite, sites),
		"a repeated question":                     after(analysis(sitesAnswer, bySite, sites), sitesAnswer+"\n\n"+table),
		"the same in columns": after(forReader(analysis(sitesAnswer, bySite, sites), `{"format":"plain"}`),
			"hosts by site\nsite   count\nfra1   1,600\nlon1   9\ntotal  1,609"),
		"a list and its table in French": forReader(analysis(sitesAnswer, bySite, sites), `{"language":"fr"}`),
		"percentages":                    percent,
		"percentages in French":          forReader(percent, `{"language":"fr"}`),
		"fractions":                      average,
		"fractions in Swiss columns":     forReader(average, `{"language":"de-CH","format":"plain"}`),
		"fractions with more digits than a table has": analysis("lon1 is high:\n- lon1: 91.23456\n- fra1: 0.0004", averages,
			averageSites),
		"a figure rounded to nothing": analysis("By site:\n- lon1: 91.235\n- fra1: 0", averages, averageSites),
		"plain prose":                 broad,
		"two lists, the second of records of one site": also(analysis(sitesAnswer+"\nNew:\n- lon1: 9", bySite, sites),
			unpatched,
			`{"groups":{"lon1":9},"total":9}`),
	}
}

const unpatchedTable = "**hosts by site (patched = false)**\n\n| site | count |\n|---|--:|\n| fra1 | 100 |\n| lon1 | 2 |\n| total | 102 |"

// TestAllFiguresAreRendered: every line of an answer is in the text, or in one row.
func TestAllFiguresAreRendered(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	for name, r := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := rendered(t, conn, r)
			for line := range strings.Lines(r.Answer) {
				if !strings.Contains(text, strings.TrimSpace(line)) && !inTable(text, strings.TrimSpace(line), reader(r)) {
					t.Errorf("%q is missing in\n%s", line, text)
				}
			}
		})
	}
}

// inTable reports whether a line of the text consists of the label and the number of
// an item, formatted for the reader.
func inTable(text, item string, reader *message.Printer) bool {
	label, value, _ := strings.Cut(strings.TrimPrefix(item, "- "), ": ")
	n, err := strconv.ParseFloat(value, 64)
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	want := words(label + " " + reader.Sprint(number.Decimal(n, number.MaxFractionDigits(9))))
	for line := range strings.Lines(text) {
		if err == nil && words(strings.ReplaceAll(line, "|", " ")) == want {
			return true
		}
	}
	return false
}

// reader returns a printer for the language of r.
func reader(r schemas.Rendering) *message.Printer {
	_, after, _ := strings.Cut(string(r.Profile), `"language":"`)
	name, _, _ := strings.Cut(after, `"`)
	return message.NewPrinter(language.Make(name))
}

func TestTitleContainsFilter(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	for _, row := range []struct{ filter, language, want string }{
		{`{}`, "en", "hosts by site"},
		{`null`, "de", "hosts nach site"},
		{`{"up":true,"role":"db"}`, "en", "hosts by site (role = db, up = true)"},
		{`{"year":2024,"load":1.5}`, "de", "hosts nach site (load = 1,5, year = 2024)"},
		{`{"ram":{"lt":64,"gte":4},"site":{"ne":null}}`, "fr", "hosts par site (ram ≥ 4, ram < 64, site ≠ (sans))"},
		{`{"site":{"in":["a","b"]},"name":{"contains":"web"}}`, "es", "hosts por site (name contiene web, site = a o b)"},
		{`{"ip":{"exists":true},"os":{"exists":false}}`, "de-CH", "hosts nach site (ip vorhanden, os nicht vorhanden)"},
		{`{"os":{"not":{"contains":"x","ne":null}}},"any_of":[{"up":true,"ram":4},{"used":{"gt":{"field":"size"}}}]`, "en",
			"hosts by site (os not (contains x, ≠ (none)), ram = 4 + up = true or used > size)"},
		{`{"name":{"starts_with":"web","ignore_case":true},"os":{"eq":"a","matches":"^b"}}`, "de",
			"hosts nach site (name beginnt mit web, os = a, os ~ ^b)"},
		{`{"host":{"in":{"data_key":"nodes","field":"name","filter":{"up":true}}}}`, "en",
			"hosts by site (host ∈ nodes.name (up = true))"},
		{`{"up":"true","note":"two\n words"}`, "pl", `hosts by site (note = two words, up = "true")`},
	} {
		t.Run(row.filter, func(t *testing.T) {
			t.Parallel()
			rendering := analysis("", `{"data_key":"hosts","group_by":"site","filter":`+row.filter+`}`, sites)
			got := rendered(t, conn, forReader(rendering, `{"format":"plain","language":"`+row.language+`"}`))
			if title, _, _ := strings.Cut(strings.TrimSpace(got), "\n"); title != row.want {
				t.Errorf("title %q, want %q", title, row.want)
			}
		})
	}
}

func TestTablesDifferByFilter(t *testing.T) {
	t.Parallel()
	both := also(analysis(unpatchedAnswer, unpatched, unpatchedSites), bySite, sites)
	want := "unpatched by site:\n\n" + unpatchedTable + "\n\n" + table
	if got := rendered(t, serve(t), both); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
