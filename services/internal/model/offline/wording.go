package offline

import (
	"fmt"
	"strings"
)

// noun is what the plan's records are called: "hosts", or "host" for one.
func (p plan) noun(n float64) string {
	key := p.array.key[strings.LastIndex(p.array.key, ".")+1:]
	name := strings.Join(nameParts(key), " ")
	if n == 1 {
		return singular(name)
	}
	return name
}

// singular is the form of an English noun for one.
func singular(name string) string {
	for plural, one := range map[string]string{"ies": "y", "ches": "ch", "shes": "sh", "xes": "x", "sses": "ss"} {
		if stem, ok := strings.CutSuffix(name, plural); ok {
			return stem + one
		}
	}
	if strings.HasSuffix(name, "ss") || strings.HasSuffix(name, "us") {
		return name
	}
	return strings.TrimSuffix(name, "s")
}

// where names the plan's conditions: " with role test and arch x64".
func (p plan) where() string {
	var out []string
	for _, c := range p.conds {
		out = append(out, c.phrase())
	}
	if len(out) == 0 {
		return ""
	}
	return " with " + strings.Join(out, " and ")
}

var signs = map[string]string{"gt": "more than", "gte": "at least", "lt": "less than", "lte": "at most", "eq": "of"}

// phrase names a condition after "with".
func (c cond) phrase() string {
	switch c.op {
	case "true", "false":
		return c.field.path + " = " + c.op
	case "set", "truthy":
		return "a " + c.field.path
	case "unset":
		return "no " + c.field.path
	case "":
		return c.field.path + " " + c.labels()
	case holds:
		return c.labels() + " in " + c.field.path
	case lacks:
		return "no " + c.labels() + " in " + c.field.path
	case "ne":
		return c.field.path + " other than " + c.labels()
	}
	if c.op == "during" {
		return c.field.path + " from " + c.num + " to before " + c.until
	}
	return c.field.path + " " + signs[c.op] + " " + c.num
}

// predicate names the goals after the records: "have no user".
func (p plan) predicate() string {
	text := p.goal.predicate()
	for _, c := range p.also {
		text += " and " + c.phrase()
	}
	return text
}

// predicate names a condition after the records: "have no user".
func (c cond) predicate() string {
	switch c.op {
	case "true", "false":
		return "have " + c.field.path + " = " + c.op
	case "set", "truthy":
		return "have a value of " + c.field.path
	case "unset":
		return "have no value of " + c.field.path
	}
	return "have " + c.phrase()
}

func (c cond) labels() string {
	var out []string
	for _, v := range c.values {
		out = append(out, v.text)
	}
	if len(out) > 8 {
		return fmt.Sprintf("%s and %d others", strings.Join(out[:8], ", "), len(out)-8)
	}
	return strings.Join(out, " or ")
}
