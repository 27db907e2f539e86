package offline

import "slices"

// kinds are words for what a field says, by the values it has: a field with
// "alpha" and "beta" is a maturity whatever its name is.
var kinds = []struct{ words, values map[string]bool }{
	{stems("maturity lifecycle stage phase"), set("sandbox incubating incubator graduated archived alpha beta stable ga preview experimental deprecated mature emerging retired planned active")},
	{stems("environment env stage tier"), set("prod production dev development test testing qa staging stage uat preprod sandbox demo lab")},
	{stems("severity priority criticality urgency"), set("critical high medium moderate low info informational none p1 p2 p3 p4")},
	{stems("architecture arch"), set("x64 x86 amd64 arm64 aarch64 ppc64le s390x riscv64 i386 armv7 arm")},
	{stems("weekday day"), set("monday tuesday wednesday thursday friday saturday sunday")},
}

// kindMatches finds where the question asks for a kind that only the values of
// a field show.
func (a *array) kindMatches(q []token) []match {
	var out []match
	for i, t := range q {
		for _, k := range kinds {
			if t.stop || !k.words[t.stem] {
				continue
			}
			for _, f := range a.fields() {
				if f.mostlyOf(k.values) {
					out = append(out, match{role: asField, field: f, pos: []int{i}, score: 0.6, whole: 0.6})
				}
			}
		}
	}
	return out
}

// mostlyOf says whether most of a field's few values are among those given.
func (f *field) mostlyOf(known map[string]bool) bool {
	if !f.textual() || f.column().distinct > 15 {
		return false
	}
	n := 0
	for _, v := range f.values() {
		if slices.ContainsFunc(nameParts(v.text), func(w string) bool { return known[w] }) {
			n++
		}
	}
	return n >= 2 && 3*n >= 2*len(f.values())
}
