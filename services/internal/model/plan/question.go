package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

// A mention is a phrase of a question that names a field or a value of an array.
type mention struct {
	field      *Field
	value      *estate.Value // nil: the field itself
	start, end int           // words of the question
	words      int           // of the field's name
	whole      bool          // all words are of the field's name
	exact      bool          // the field by all words of its last segment; the value in its inflection
}

// A Question is a question linked to a vocabulary. It is not safe for concurrent use.
type Question struct {
	Text      string
	words     []word
	phrases   map[string][][2]int // ranges of words by their folded text
	v         *Vocabulary
	intent    Intent
	denoting  map[string][]int // words by the word of a name that they denote
	mentioned map[*Array][]mention
	readings  map[*Array]*reading
	scores    map[*Array]float64
	proposed  *proposal
}

// Bounds on the work of a question.
const (
	maxOccurrences = 8   // of one word, name or value
	maxMentions    = 400 // of an array
)

// Ask links a question to the vocabulary.
func Ask(v *Vocabulary, question string) *Question {
	q := &Question{
		Text: question, words: split(question), phrases: map[string][][2]int{}, v: v, denoting: map[string][]int{},
		mentioned: map[*Array][]mention{},
		readings:  map[*Array]*reading{}, scores: map[*Array]float64{},
	}
	q.intent = readIntent(q)
	for start := range q.words {
		text := ""
		for end := start; end < min(len(q.words), start+maxPhrase) && (end == start || !q.words[end].brk); end++ {
			text += fold(q.words[end].low)
			span := [2]int{start, end + 1}
			q.addPhrase(text, span)
			if last := fold(q.words[end].low); Singular(last) != last {
				q.addPhrase(text[:len(text)-len(last)]+Singular(last), span)
			}
		}
	}
	return q
}

// Noun returns the plural noun of the records of a data key.
func (q *Question) Noun(key string) string {
	if a := q.v.Array(key); a != nil {
		return a.Noun()
	}
	return "records"
}

func (q *Question) addPhrase(text string, span [2]int) {
	if text != "" && len(q.phrases[text]) < maxOccurrences && !slices.Contains(q.phrases[text], span) {
		q.phrases[text] = append(q.phrases[text], span)
	}
}

// mentions returns the fields and values of an array that the question names, longest first.
func (q *Question) mentions(a *Array) []mention {
	if list, ok := q.mentioned[a]; ok {
		return list
	}
	var list []mention
	for _, f := range a.Fields {
		if len(list) > maxMentions || q.v.ctx.Err() != nil {
			break
		}
		if m, ok := q.named(f); ok {
			list = append(list, m)
		}
		if f.scalar() {
			list = append(list, q.valuesOf(f)...)
		}
	}
	slices.SortStableFunc(list, func(a, b mention) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), cmp.Compare(a.field.Level, b.field.Level))
	})
	q.mentioned[a] = list
	return list
}

// valuesOf returns the values of a field that the question names.
func (q *Question) valuesOf(f *Field) (list []mention) {
	short := f.Level == 0 && f.enumerated() && f.has("string")
	for _, value := range f.values() {
		if value.Type != "string" {
			continue
		}
		folded := fold(value.Text)
		for i, w := range q.words {
			if short && len(folded) > 2 && abbreviates(folded, w.low) {
				list = append(list, mention{field: f, value: &value, start: i, end: i + 1, words: 1})
			}
		}
		for _, span := range q.phrases[folded] {
			first := q.words[span[0]]
			if span[1]-span[0] == 1 && (lexicon.stops[first.low] || len(folded) < 2) && first.text != value.Text {
				continue
			}
			list = append(list, mention{
				field: f, value: &value, start: span[0], end: span[1], words: span[1] - span[0],
				exact: strings.EqualFold(first.low, value.Text) || span[1]-span[0] > 1,
			})
		}
	}
	return list
}

// named returns the mention of a field that the question names by all words of its last segment but vague ones, or
// by the segment before if the last one is vague. Further words of the path that stand near extend it: the memory
// limit is limits.memory.
func (q *Question) named(f *Field) (mention, bool) {
	if spans := q.phrases[strings.Join(f.name(), "")]; len(spans) > 0 &&
		(f.leaf > 1 || !lexicon.stops[q.low(spans[0][0])]) {
		// as in the data, or as one word
		m := mention{field: f, start: spans[0][0], end: spans[0][1], words: f.leaf, exact: true, whole: true}
		if f.leaf > 1 || len(f.words) == 1 {
			return m, true
		}
	}
	required, content := [][]int{}, false
	exact := true
	for _, name := range f.name() {
		positions := q.positions(name)
		switch {
		case len(positions) > 0:
			required, content = append(required, positions), content || !lexicon.vague[name]
		case lexicon.vague[name]:
			exact = false
		default:
			return mention{}, false
		}
	}
	outer := f.words[f.leaf:]
	if !content && len(outer) > 0 { // State.Name, license.key
		positions := q.positions(outer[0])
		if len(positions) > 0 && (!lexicon.vague[outer[0]] || exact || len(required) == 0) {
			required, content, outer = append(required, positions), true, outer[1:]
		}
	}
	if len(required) == 0 || !content && (!exact || len(f.words) > f.leaf) {
		return mention{}, false
	}
	m := mention{field: f, exact: exact, words: len(required)}
	if m.start, m.end = window(required); m.end-m.start > maxPhrase {
		return m, false
	}
	return q.extended(m, required, outer), true
}

// extended returns the mention with further words of the path that stand near it.
func (q *Question) extended(m mention, required [][]int, outer []string) mention {
	for _, name := range outer {
		positions := q.positions(name)
		if len(positions) == 0 || lexicon.vague[name] {
			continue
		}
		if start, end := window(append(required, positions)); end-start <= maxPhrase {
			required = append(required, positions)
			m.start, m.end, m.words = start, end, len(required)
		}
	}
	return m
}

// english are function words of English questions that other languages do not have.
var english = set(strings.Fields(
	"how which what who list show give is are do does the of per by count top any all number total average"))

// english reports whether the question has English function words, without which its words are only names and values.
func (q *Question) english() bool {
	return slices.ContainsFunc(q.words, func(w word) bool { return english[w.low] })
}

// compound reports whether the question has several parts, each of which asks something.
func (q *Question) compound() bool {
	many, asked := 0, false
	for i, w := range q.words {
		asks := slices.Contains([]string{"how", "what", "which", "who", "where", "when"}, w.low)
		if w.low == "many" && q.low(i-1) == "how" {
			many++
		}
		joined := asks && asked && (q.low(i-1) == "and" || w.brk)
		asked = asked || asks
		if joined && slices.ContainsFunc(q.words[min(i+2, len(q.words)):], func(w word) bool {
			return !lexicon.stops[w.low] && !lexicon.fillers[w.low]
		}) {
			return true
		}
	}
	return many > 1
}

// has reports whether the question has one of the words.
func (q *Question) has(words ...string) bool {
	return slices.ContainsFunc(q.words, func(w word) bool { return slices.Contains(words, w.low) })
}

// positions returns the words of the question that denote a word of a name.
func (q *Question) positions(name string) []int {
	positions, cached := q.denoting[name]
	if cached {
		return positions
	}
	for i, w := range q.words {
		if len(positions) < maxOccurrences && (w.low == name || !lexicon.stops[w.low] && alike(w, name)) {
			positions = append(positions, i)
		}
	}
	q.denoting[name] = positions
	return positions
}

// window returns the shortest range of words with one position of each list.
func window(lists [][]int) (start, end int) {
	best := 1 << 20
	for _, list := range lists {
		for _, anchor := range list {
			low, high := anchor, anchor
			for _, positions := range lists {
				near := positions[0]
				for _, position := range positions {
					if abs(position-anchor) < abs(near-anchor) {
						near = position
					}
				}
				low, high = min(low, near), max(high, near)
			}
			if high-low < best {
				best, start, end = high-low, low, high+1
			}
		}
	}
	return start, end
}

func abs(n int) int { return max(n, -n) }

// names returns the word of the question that names the records of the array.
func (q *Question) names(a *Array) (position int, ok bool) {
	if len(a.words) == 0 {
		return 0, false
	}
	head := a.words[len(a.words)-1]
	if spans := q.phrases[Singular(strings.Join(a.words, ""))]; len(spans) > 0 && len(a.words) > 1 {
		return spans[0][1] - 1, true
	}
	for i, w := range q.words {
		if !lexicon.stops[w.low] && (w.low == head || Singular(w.low) == Singular(head)) {
			return i, true
		}
	}
	return 0, false
}

// Intent returns what the question asks for.
func (q *Question) Intent() Intent { return q.intent }

func (q *Question) low(i int) string {
	if i < 0 || i >= len(q.words) {
		return ""
	}
	return q.words[i].low
}

// phrase returns the words of a mention as written.
func (q *Question) phrase(m mention) string {
	var texts []string
	for _, w := range q.words[m.start:m.end] {
		texts = append(texts, w.text)
	}
	return strings.Join(texts, " ")
}

// ranked returns the arrays, those that the question names most first.
func (q *Question) ranked() []*Array {
	return slices.SortedStableFunc(slices.Values(q.v.Arrays), func(a, b *Array) int {
		return cmp.Compare(q.score(b), q.score(a))
	})
}

// score returns how well an array fits the question: by its name, most if that is what is counted, and by the words
// that its fields and values explain.
func (q *Question) score(a *Array) (score float64) {
	if cached, ok := q.scores[a]; ok {
		return cached
	}
	defer func() { q.scores[a] = score }()
	position, named := q.names(a)
	if named {
		score += 2
		if subject(q) == position {
			score += 2
		}
	}
	covered := map[int]float64{}
	for _, m := range q.mentions(a) {
		weight := 0.5
		switch {
		case m.value != nil && m.exact && m.field.Level == 0:
			weight = 1.2
		case m.value != nil && m.field.Level == 0:
			weight = 1
		case m.exact && m.field.Level == 0:
			weight = 0.8
		case m.value != nil:
			weight = 0.7
		case m.field.Level > 0:
			weight = 0.4
		}
		for i := m.start; i < m.end; i++ {
			if !named || i != position {
				covered[i] = max(covered[i], weight)
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(covered)) { // sums depend on their order
		score += covered[i]
	}
	return score
}

// relevant returns the fields that a plan may use, those that the question names first, then those of the records
// themselves.
func (q *Question) relevant(a *Array) []*Field {
	named := map[*Field]bool{}
	for _, m := range q.mentions(a) {
		named[m.field] = true
	}
	var first, rest []*Field
	for _, f := range a.Fields {
		switch {
		case !f.scalar() && !f.optional() || f.distinct() == 0 && f.scalar() || strings.Contains(f.Path, "\n"):
		case named[f]:
			first = append(first, f)
		default:
			rest = append(rest, f)
		}
	}
	return append(first, rest...)
}
