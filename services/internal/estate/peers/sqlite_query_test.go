package peers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

// A call is a query that has a form for package estate and one in SQL.
type call struct {
	key, groupBy string
	filter       []condition
	metrics      []string
}

// condition is one condition of a filter; without an operator it is equality.
type condition struct{ field, op, value string }

func (c call) query() estate.Query {
	filter := map[string]json.RawMessage{}
	for _, a := range c.filter {
		filter[a.field] = json.RawMessage(a.value)
		if a.op != "" {
			filter[a.field] = fmt.Appendf(nil, "{%q: %s}", a.op, a.value)
		}
	}
	return estate.Query{DataKey: c.key, GroupBy: estate.GroupBy{c.groupBy}, Filter: filter, Metrics: c.metrics}
}

// tableOf returns the table rec of the elements j of the table el. It has three columns for
// each field: its type t, NULL if it is missing, its value v, and its group label l, NULL if
// there is none.
func tableOf(fields []string) string {
	var read, named []string
	for i, field := range fields {
		t, v := lookUp(field)
		read = append(read, fmt.Sprintf("%s AS t%d, %s AS v%d", typeOf(t), i, v, i))
		named = append(named, fmt.Sprintf("t%d, v%d, %s AS l%d", i, i, labelOf(i), i))
	}
	return "CREATE TABLE rec AS WITH raw AS MATERIALIZED (SELECT " + strings.Join(read, ", ") + " FROM el) SELECT " + strings.Join(named,
		", ") + " FROM raw"
}

// at returns the index of a field.
func at(field string) int { return slices.Index(someFields, field) }

// group returns the SQL of the group label, NULL if there is none.
func (c call) group() string {
	if c.groupBy == "" {
		return "NULL"
	}
	return fmt.Sprintf("l%d", at(c.groupBy))
}

// used returns the columns that groups and metrics need, which speeds up preparation.
func (c call) used() string {
	columns := "NULL AS none"
	for i, field := range someFields {
		named := func(m string) bool { return strings.HasSuffix(m, ":"+field) }
		if field == c.groupBy || slices.ContainsFunc(c.metrics, named) {
			columns += strings.ReplaceAll(", t#, v#, l#", "#", fmt.Sprint(i))
		}
	}
	return columns
}

// with returns the table sel of the records that match the filter.
func (c call) with() string {
	where := []string{"1"}
	for _, a := range c.filter {
		where = append(where, "COALESCE("+a.sql(at(a.field))+", 0)")
	}
	return "WITH sel AS MATERIALIZED (SELECT " + c.used() + " FROM rec WHERE " + strings.Join(where, "\n AND ") + ")\n"
}

// lookUp returns the SQL of a field's type and value. A name that contains dots takes
// precedence, the longest first; a record that is not an object has the field "value".
func lookUp(field string) (typ, value string) {
	typ, value = "CASE", "CASE"
	if field == estate.ElementField {
		typ, value = "CASE WHEN json_type(j) <> 'object' THEN json_type(j)", "CASE WHEN json_type(j) <> 'object' THEN j ->> '$'"
	}
	for _, path := range pathsOf(field) {
		typ += fmt.Sprintf(" WHEN json_type(j, '$%s') IS NOT NULL THEN json_type(j, '$%s')", path, path)
		value += fmt.Sprintf(" WHEN json_type(j, '$%s') IS NOT NULL THEN j ->> '$%s'", path, path)
	}
	return typ + " END", value + " END"
}

// pathsOf returns the interpretations of a dotted path.
func pathsOf(field string) []string {
	paths := []string{`."` + field + `"`}
	for dot := len(field) - 1; dot > 0; dot-- {
		if field[dot] == '.' {
			for _, rest := range pathsOf(field[dot+1:]) {
				paths = append(paths, `."`+field[:dot]+`"`+rest)
			}
		}
	}
	return paths
}

// typeOf merges integer and real, and true and false.
func typeOf(t string) string {
	return "replace(replace(replace(replace(" + t + ", 'integer', 'number'), 'real', 'number'), 'true', 'boolean'), 'false', 'boolean')"
}

func labelOf(i int) string {
	return strings.ReplaceAll(`CASE t# WHEN 'null' THEN NULL
		WHEN 'boolean' THEN CASE v# WHEN 1 THEN 'true' ELSE 'false' END
		WHEN 'number' THEN CAST(CASE WHEN v# = CAST(v# AS INTEGER) THEN CAST(v# AS INTEGER) ELSE v# END AS TEXT)
		ELSE v# END`, "#", fmt.Sprint(i))
}

func literal(json string) string { return "'" + strings.ReplaceAll(json, "'", "''") + "'" }

// equals returns the SQL that compares type t and value v with a JSON text.
func equals(t, v, json string) string {
	return fmt.Sprintf("(%s = %s AND %s IS (%s ->> '$'))", t, typeOf("json_type("+literal(json)+")"), v, literal(json))
}

func (a condition) sql(i int) string {
	t, v := fmt.Sprintf("t%d", i), fmt.Sprintf("v%d", i)
	is := equals(t, v, a.value)
	order := func(op string) string {
		return fmt.Sprintf("(%s = %s AND %s %s (%s ->> '$'))", t, typeOf("json_type("+literal(a.value)+")"), v, op, literal(a.value))
	}
	switch a.op {
	case "ne":
		if a.value == "null" {
			return t + " <> 'null'"
		}
		return fmt.Sprintf("(%s IS NULL OR NOT %s)", t, is)
	case "gt":
		return order(">")
	case "gte":
		return order(">=")
	case "lt":
		return order("<")
	case "lte":
		return order("<=")
	case "in":
		return fmt.Sprintf("EXISTS (SELECT 1 FROM json_each(%s) AS e WHERE %s = %s AND %s IS e.value)",
			literal(a.value), t, typeOf("e.type"), v)
	case "contains":
		text := fmt.Sprintf("(%s = 'text' AND json_type(%s) = 'text' AND instr(%s, %s ->> '$') > 0)",
			t, literal(a.value), v, literal(a.value))
		element := fmt.Sprintf("(%s = 'array' AND EXISTS (SELECT 1 FROM json_each(CASE %s WHEN 'array' THEN %s ELSE '[]' END) AS e WHERE %s))",
			t, t, v, equals(typeOf("e.type"), "e.value", a.value))
		return "(" + text + " OR " + element + ")"
	case "exists":
		return fmt.Sprintf("((%s IS NOT NULL) = %s)", t, a.value)
	default:
		return is
	}
}

// sql selects a row per group with its label and the metrics, ordered by the first metric,
// largest first and NULL last.
func (c call) sql(group string) string {
	columns, from := c.columns()
	return c.with() + fmt.Sprintf(", named AS MATERIALIZED (SELECT *, %s AS g FROM sel)\n%s\nSELECT g, %s GROUP BY g ORDER BY ROUND(m0, 9) DESC NULLS LAST, g",
		group, c.percentiles(), columns+" FROM "+from)
}

// sqlOfNothing returns the row for no records.
func (c call) sqlOfNothing() string {
	columns := "''"
	for _, m := range c.metrics {
		switch op, _, _ := strings.Cut(m, ":"); op {
		case "count", "sum", "distinct":
			columns += ", 0"
		default:
			columns += ", NULL"
		}
	}
	return "SELECT " + columns
}

func (c call) columns() (columns, from string) {
	var list []string
	for i, m := range c.metrics {
		op, field, _ := strings.Cut(m, ":")
		column := strings.ReplaceAll(map[string]string{
			"count": "COUNT(*)", "distinct": "COUNT(DISTINCT t# || ':' || l#)",
			"sum": "TOTAL(v#) FILTER (WHERE t# = 'number')", "avg": "AVG(v#) FILTER (WHERE t# = 'number')",
			"min": "MIN(v#) FILTER (WHERE t# = 'number')", "max": "MAX(v#) FILTER (WHERE t# = 'number')",
		}[op], "#", fmt.Sprint(at(field)))
		if column == "" {
			column = fmt.Sprintf("(SELECT p FROM p%d WHERE p%d.g = named.g)", i, i)
		}
		list = append(list, fmt.Sprintf("%s AS m%d", column, i))
	}
	return strings.Join(list, ", "), "named"
}

// percentiles returns a table for each percentile, which interpolates between the two
// nearest numbers.
func (c call) percentiles() string {
	tables := ""
	for i, m := range c.metrics {
		op, field, _ := strings.Cut(m, ":")
		part := map[string]string{"p50": "0.5", "p95": "0.95"}[op]
		if part == "" {
			continue
		}
		tables += fmt.Sprintf(`, p%d AS (SELECT g, SUM(n * MAX(0, 1 - ABS(rank - %s * (many - 1)))) AS p FROM
			(SELECT g, v%d AS n, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v%d) - 1 AS rank, COUNT(*) OVER (PARTITION BY g) AS many
			FROM named WHERE t%d = 'number') GROUP BY g)`, i, part, at(field), at(field), at(field))
	}
	return tables
}
