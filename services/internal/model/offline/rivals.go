package offline

import (
	"fmt"
	"slices"
	"strings"
)

// rivals are the numeric fields that the words for a figure of the plan could
// mean as well: "cpu" of cpus and cpu_percent. The answer names them.
func (b *builder) rivals(p plan) []choice {
	var out []choice
	for _, m := range b.r.matches {
		if (m.role != asField && m.role != asNumber) || !m.field.numeric() || !p.figures(m.field) {
			continue
		}
		c := choice{taken: m.field.path}
		for _, f := range b.r.array.fields() {
			if f != m.field && f.numeric() && f.fits(b.q, m) && !b.plural(m, f) {
				c.others = append(c.others, f.path)
			}
		}
		if len(c.others) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// plural says whether a word of m is the plural that its field has in its name,
// which settles that f is not meant.
func (b *builder) plural(m match, f *field) bool {
	return m.field.spelt(b.q, m) && !f.spelt(b.q, m) && slices.ContainsFunc(m.pos, func(i int) bool {
		return b.q[i].digits() == "" && b.q[i].low == b.q[i].stem+"s"
	})
}

// choice is a field that was taken for words that others fit as well.
type choice struct {
	taken  string
	others []string
}

func (c choice) String() string {
	return fmt.Sprintf("I took %s; %s could be meant as well.", c.taken, strings.Join(c.others, " or "))
}

// figures says whether the plan computes with f or compares it.
func (p plan) figures(f *field) bool {
	_, path, _ := strings.Cut(p.metric, ":")
	compared := func(c cond) bool { return c.field == f && c.num != "" }
	return path == f.path || slices.ContainsFunc(p.conds, compared) || p.goal != nil && compared(*p.goal)
}

// fits says whether the words of m, but for its number, name f about as well.
func (f *field) fits(q []token, m match) bool {
	return slices.ContainsFunc(nameMatches(q, f.parts, true), func(o match) bool {
		return o.plain && o.whole >= 0.4 && !slices.ContainsFunc(m.pos, func(i int) bool {
			return q[i].digits() == "" && !slices.Contains(o.pos, i)
		})
	})
}
