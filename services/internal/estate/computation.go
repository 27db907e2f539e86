package estate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// computation is the state of one query.
type computation struct {
	selection
	parsedQuery
	maxGroups int
	absent    []string // fields of groups and names that no selected record has
	result    Stats
}

func compute(ctx context.Context, e *Estate, q Query, maxGroups int) (Stats, error) {
	a, err := e.find(q.DataKey)
	if err != nil {
		return Stats{}, err
	}
	p, err := q.parse()
	if err != nil {
		return Stats{}, err
	}
	x := newReader(ctx, e)
	defer x.close()
	c := computation{selection: selection{reader: x, array: a}, parsedQuery: p, maxGroups: maxGroups}
	c.result = Stats{Groups: Groups{}, Records: a.count}
	if c.join, err = c.openLookups(p.Lookup); err != nil {
		return Stats{}, err
	}
	if err := c.selectRows(ctx); err != nil {
		return Stats{}, err
	}
	if err := c.addFigures(ctx); err != nil {
		return Stats{}, err
	}
	if err := c.addNames(ctx); err != nil {
		return Stats{}, err
	}
	c.result.Note, err = c.note(ctx)
	return c.result, err
}

// selectRows selects the records that match, after computing the share if one is requested.
func (c *computation) selectRows(ctx context.Context) error {
	if c.Share != nil {
		some := c.selection
		if err := some.all(ctx); err != nil {
			return err
		}
		if err := some.narrow(ctx, c.base); err != nil {
			return err
		}
		share := ShareOf{Of: len(some.rows)}
		if err := some.match(ctx, c.filter, c.alternatives); err != nil {
			return err
		}
		share.Records = len(some.rows)
		share.Percent = Number(math.Round(float64(share.Records)/float64(share.Of)*1e6) / 1e4)
		c.result.Share = &share
	}
	if err := c.all(ctx); err != nil {
		return err
	}
	err := c.match(ctx, c.filter, c.alternatives)
	c.result.Matched = len(c.rows)
	return err
}

// addFigures computes the metrics over all selected records and over groups.
func (c *computation) addFigures(ctx context.Context) error {
	partition, err := c.group(ctx)
	if err != nil {
		return err
	}
	measures := make([]measure, 0, len(c.metrics)+1)
	for _, m := range c.metrics {
		v, err := c.measure(ctx, m)
		if err != nil {
			return err
		}
		if v.texts != nil && len(measures) == 0 { // groups and total are numbers
			measures = append(measures, measure{metric: countMetric})
		}
		if len(measures) == 0 || m.name != measures[0].name {
			measures = append(measures, v)
		}
	}
	ranked, figures, total, err := c.rankGroups(ctx, &partition, measures[0])
	if err != nil {
		return err
	}
	var rows, groups []uint32
	if len(measures) > 1 {
		rows, groups = partition.ranked(ranked)
	}
	for i, v := range measures {
		if i > 0 {
			if figures, total, err = c.figures(ctx, v, rows, groups, len(ranked)); err != nil {
				return err
			}
		}
		isPart := i > 0 && len(rows) != len(c.rows)       // some groups are left out
		if isPart || len(partition.rows) != len(c.rows) { // or lists are divided
			if _, total, err = c.figures(ctx, v, c.rows, nil, 0); err != nil {
				return err
			}
		}
		c.add(i == 0, v, partition, ranked, figures, total)
	}
	return ctx.Err()
}

// add adds the figures of a metric to the result: those of the ranked groups, and over all records.
func (c *computation) add(first bool, v measure, partition grouping, ranked []uint32, figures []float64,
	total float64) {
	f := Figures{Total: v.cell(total), Unit: v.unit, Groups: Groups{}}
	for k, figure := range figures {
		value := v.cell(figure)
		switch {
		case len(c.GroupBy) == 1:
			f.Groups = append(f.Groups, Group{partition.keys[0][ranked[k]], value})
		case first:
			c.result.Rows = append(c.result.Rows, Row{By: partition.labels(ranked[k]), Value: value.Value})
		case c.result.Rows[k].Metrics == nil:
			c.result.Rows[k].Metrics = map[string]Cell{v.name: value}
		default:
			c.result.Rows[k].Metrics[v.name] = value
		}
	}
	switch {
	case first:
		c.result.Groups, c.result.Total, c.result.Unit = f.Groups, f.Total.Value, f.Unit
	case c.result.Metrics == nil:
		c.result.Metrics = map[string]Figures{v.name: f}
	default:
		c.result.Metrics[v.name] = f
	}
}

// rankGroups returns the first groups by the first metric, among those that meet the conditions on groups, with their
// figures, and the figure over all of their records.
func (c *computation) rankGroups(ctx context.Context, partition *grouping, first measure) (
	ranked []uint32, kept []float64, total float64, err error,
) {
	n := len(partition.counts)
	if err := c.acquire(8 * n); err != nil {
		return nil, nil, 0, err
	}
	figures, total := partition.countFigures(), float64(len(c.rows))
	if first.field != "" {
		figures, total, err = c.figures(ctx, first, partition.rows, partition.groups, n)
	}
	if err != nil || len(c.GroupBy) == 0 {
		return nil, nil, total, err
	}
	for i, m := range c.havingBy {
		v, err := c.measure(ctx, m)
		if err != nil {
			return nil, nil, 0, err
		}
		if v.texts != nil {
			return nil, nil, 0, fmt.Errorf("having %q: expected a metric that is a number", m.name)
		}
		matches, err := bindAll(ctx, c.reader, newColumn(column{path: m.name, types: 1 << kindNumber}), c.having[i].tests)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("having %q: %w", m.name, err)
		}
		limits, _, err := c.figures(ctx, v, partition.rows, partition.groups, n)
		if err != nil {
			return nil, nil, 0, err
		}
		for g, figure := range limits {
			if partition.counts[g] > 0 && (figure != figure || !matches(operand{kindNumber, Number(figure).String()}, 0)) {
				partition.drop(g)
			}
		}
	}
	if len(c.OverGroups) > 0 && c.metrics[0].name != first.name {
		return nil, nil, 0, fmt.Errorf("over_groups: %q is no number", c.metrics[0].name)
	}
	c.result.GroupCount = partition.nonNull
	if len(c.OverGroups) > 0 {
		c.result.OverGroups = partition.over(ctx, c.OverGroups, figures)
	}
	ranked = partition.rank(ctx, figures, c.maxGroups)
	c.result.Truncated = partition.nonEmpty > len(ranked)
	kept = make([]float64, len(ranked))
	for k, g := range ranked {
		kept[k] = figures[g]
	}
	return ranked, kept, total, ctx.Err()
}

// cover counts the selected records whose field has no value to compute with.
func (c *computation) cover(path string, col *column, numbers []float64, readAs string) {
	use := Coverage{ReadAs: readAs}
	codes := col.dense(c.array.count)
	if col.nulls > 0 || len(col.codes) < len(codes) || col.gaps || numbers != nil {
		for _, row := range c.rows {
			switch code := codes[row]; {
			case code == codeMissing:
				use.Missing++
			case code == codeNull:
				use.Null++
			case numbers != nil && numbers[code-codeValues] != numbers[code-codeValues]:
				use.Skipped++
			}
		}
	}
	if use == (Coverage{}) || use.Missing == len(c.rows) {
		return // a field that no record has is in the note
	}
	if c.result.Coverage == nil {
		c.result.Coverage = map[string]Coverage{}
	}
	if earlier, ok := c.result.Coverage[path]; ok { // of another metric of the field
		use.ReadAs, use.Skipped = cmp.Or(use.ReadAs, earlier.ReadAs), max(use.Skipped, earlier.Skipped)
	}
	c.result.Coverage[path] = use
}

// unknownFields returns the fields of the query that no selected record has.
func (c *computation) unknownFields() []string {
	var fields []string
	for _, condition := range slices.Concat(slices.Concat(c.alternatives...), c.filter, c.base) {
		if condition.tested && !condition.present && !slices.Contains(fields, condition.field) {
			fields = append(fields, condition.field)
		}
	}
	if len(c.rows) == 0 {
		return fields
	}
	fields = append(fields, c.absent...)
	for _, m := range append(c.metrics, c.havingBy...) {
		if m.field != "" && !m.present {
			fields = append(fields, m.field)
		}
	}
	return fields
}

// group groups the selected rows. The error may be ctx.Err().
func (c *computation) group(ctx context.Context) (grouping, error) {
	partition := grouping{rows: c.rows}
	for _, field := range c.GroupBy {
		col, err := c.column(ctx, field)
		if err != nil {
			return partition, err
		}
		if err := c.acquireLists(col); err != nil {
			return partition, err
		}
		l, err := col.groups.Get(ctx)
		if err != nil {
			return partition, err
		}
		if err := c.checkGroups(field, col); err != nil {
			return partition, err
		}
		if partition, err = c.split(ctx, partition, col, &l); err != nil {
			return partition, err
		}
		c.cover(field, col, nil, "")
	}
	// the string "null" is a label too
	if len(c.GroupBy) == 1 && partition.empty > 0 && partition.counts[0] == partition.empty {
		partition.null = true
		partition.nonNull--
	}
	return partition, nil
}

// checkGroups refuses a field whose selected values are all objects or lists of objects.
func (c *computation) checkGroups(field string, col *column) error {
	if col.types&(1<<kindObject|1<<kindArray) == 0 {
		return nil
	}
	codes := col.dense(c.array.count)
	var object *entry
	for _, row := range c.rows {
		if codes[row] < codeValues {
			continue
		}
		v := &col.values[codes[row]-codeValues]
		if v.kind < kindArray || v.isList() {
			return nil
		}
		object = v
	}
	if object == nil {
		return nil
	}
	if key := joinPath(c.array.key, field); c.estate.byKey[key] != nil {
		return fmt.Errorf("group_by %q: its values are objects; use data_key %q and group by one of %s", field, key,
			list(c.estate.byKey[key].paths()))
	}
	hint := "filter its values, or group by a field inside of them"
	var members []string
	for _, path := range c.array.paths() {
		if strings.HasPrefix(path, field+".") {
			members = append(members, path)
		}
	}
	if len(members) > 0 {
		hint = "group by one of " + list(members)
	}
	return fmt.Errorf("group_by %q: its values are objects; %s", field, hint)
}

// split divides the groups by the labels of a column. The error may be ErrMemory or ctx.Err().
func (c *computation) split(ctx context.Context, outer grouping, col *column, l *labels) (grouping, error) {
	codes := col.dense(c.array.count)
	if !c.isPresent(codes) {
		c.absent = append(c.absent, col.path)
	}
	entries := l.count(codes, outer.rows)
	if most := c.maxEntries(); entries > most {
		return outer, fmt.Errorf("group_by: the lists of the records have %d combinations, expected at most %d", entries,
			most)
	}
	size := 4*entries + 8*len(l.keys) // the groups of entries; the count and the rank of groups
	if outer.groups != nil {
		size += tupleSize * min(entries, len(outer.counts)*len(l.keys)) // until the combinations are known
	}
	if l.elements != nil {
		size += 4 * entries // the rows of entries
	}
	if err := c.acquire(size); err != nil {
		return outer, err
	}
	next := grouping{rows: outer.rows, groups: make([]uint32, 0, entries), keys: append(outer.keys, l.keys)}
	if outer.groups == nil && l.elements == nil {
		next.assign(codes, l)
		return next, ctx.Err()
	}
	if l.elements != nil {
		next.rows = make([]uint32, 0, entries)
	}
	combinations := map[[2]uint32]uint32{}
	for i, row := range outer.rows {
		if i%checkRows == 0 && ctx.Err() != nil {
			return outer, ctx.Err()
		}
		if l.group[codes[row]] == 0 && l.isEmpty(codes[row]) {
			next.empty++
		}
		for _, label := range l.groups(codes[row]) {
			g := label
			if outer.groups != nil {
				g = next.combine(combinations, outer, outer.groups[i], label)
			}
			next.groups = append(next.groups, g)
			if l.elements != nil {
				next.rows = append(next.rows, row)
			}
		}
	}
	next.count()
	return next, nil
}

// isPresent reports whether a selected record has the field with these codes, or null.
func (c *computation) isPresent(codes []uint32) bool {
	return slices.ContainsFunc(c.rows, func(row uint32) bool { return codes[row] != codeMissing })
}

func (c *computation) openLookups(given map[string]Lookup) (map[string]lookup, error) {
	opened := map[string]lookup{}
	for field, l := range given {
		a, err := c.estate.find(l.DataKey)
		if err != nil {
			return nil, err
		}
		opened[field] = lookup{a, l.Field}
	}
	return opened, nil
}

// measure reads the field of a metric.
func (c *computation) measure(ctx context.Context, m *metric) (measure, error) {
	v := measure{metric: m}
	if m.field == "" {
		return v, nil
	}
	col, err := c.column(ctx, m.field)
	if err != nil {
		return v, err
	}
	v.codes = col.dense(c.array.count)
	m.present = c.isPresent(v.codes)
	if m.op == "distinct" {
		if err := c.acquireLists(col); err != nil {
			return v, err
		}
		v.classes = col.classes(ctx)
		c.cover(m.field, col, nil, "")
		return v, ctx.Err()
	}
	r, err := col.reading.Get(ctx)
	if err != nil {
		return v, err
	}
	v.unit, v.numbers = r.unit, r.numbers
	ordered := m.op == "min" || m.op == "max"
	switch {
	case r.times != nil && !ordered:
		v.numbers = nil // dates have no sum
	case r.times != nil:
		v.texts = textsOf(col, r.numbers)
	case r.kind == asText && ordered:
		if v.numbers, err = c.textNumbers(col); err != nil {
			return v, err
		}
		v.texts = textsOf(col, v.numbers)
	}
	if v.numbers == nil {
		v.numbers = slices.Repeat([]float64{math.NaN()}, len(col.values))
	}
	readAs := ""
	if r.text && v.texts == nil || r.kind == asDate && ordered {
		readAs = r.kind
	}
	c.cover(m.field, col, v.numbers, readAs)
	return v, nil
}

// textNumbers numbers the texts of a column in their order.
func (c *computation) textNumbers(col *column) ([]float64, error) {
	if err := c.acquire(16 * len(col.values)); err != nil {
		return nil, err
	}
	order := all(len(col.values))
	slices.SortFunc(order, func(i, k uint32) int { return strings.Compare(col.values[i].text, col.values[k].text) })
	numbers := make([]float64, len(order))
	for k, i := range order {
		numbers[i] = float64(k)
	}
	return numbers, nil
}

// figures computes the measure over rows, and over each of n groups; groups has the group of each of rows, nil if
// there are none. The error may be ErrMemory or ctx.Err().
func (c *computation) figures(ctx context.Context, v measure, rows, groups []uint32, n int) (
	byGroup []float64, total float64, err error,
) {
	if v.field == "" {
		byGroup = make([]float64, n)
		for _, g := range groups {
			byGroup[g]++
		}
		return byGroup, float64(len(rows)), nil
	}
	size := 8*len(rows) + tallySize*n // the values
	if v.op == "distinct" {
		size = 4*len(rows) + 4*v.classes.bound
		if pairs := v.classes.count(v.codes, rows); pairs > c.maxEntries() {
			return nil, 0, fmt.Errorf("%s: the lists have %d elements in the groups, expected at most %d",
				v.name, pairs, c.maxEntries())
		} else if v.classes.elements != nil {
			size += 16 * pairs
		}
	}
	if groups != nil {
		size += 12 * len(rows) // their groups, and the values in parts
	}
	if err := c.acquire(size); err != nil {
		return nil, 0, err
	}
	defer c.release(size)
	if v.op == "distinct" {
		chosen, groups := v.chooseClasses(rows, groups)
		return distinct(chosen, groups, n, v.classes.bound), distinct(chosen, nil, 1, v.classes.bound)[0], ctx.Err()
	}
	numbers, groups := v.chooseNumbers(rows, groups)
	byGroup = v.reduce(ctx, numbers, groups, n) // before the total, which reorders numbers
	return byGroup, v.reduce(ctx, numbers, nil, 1)[0], ctx.Err()
}

// addNames adds the names of the records that match, or of those with the extreme values of a field.
func (c *computation) addNames(ctx context.Context) error {
	if c.Names == nil && c.Top == nil {
		return nil
	}
	field := ""
	if c.Names != nil {
		field = c.Names.Field
	}
	if field == "" {
		field = nameField(c.array)
	}
	col, err := c.column(ctx, field)
	if err != nil {
		return err
	}
	if len(col.codes) == 0 && len(c.rows) > 0 {
		return fmt.Errorf("names: no record has the field %q; the fields are %s", field, list(c.array.paths()))
	}
	codes := col.dense(c.array.count)
	name := func(row uint32) string {
		if codes[row] < codeValues {
			return NullGroup
		}
		return groupKey(col.values[codes[row]-codeValues].label())
	}
	if c.Top != nil {
		return c.addTop(ctx, name)
	}
	limit := cmp.Or(c.Names.Limit, defaultNames)
	for _, row := range c.rows[:min(limit, len(c.rows))] {
		c.result.Names = append(c.result.Names, Name{Name: name(row)})
	}
	c.result.MoreNames = max(0, len(c.rows)-limit)
	return nil
}

// addTop adds the records with the extreme values of a field, and those with the same value as the last.
func (c *computation) addTop(ctx context.Context, name func(row uint32) string) error {
	v, err := c.measure(ctx, &metric{name: c.Top.By, op: "max", field: c.Top.By})
	if err != nil {
		return err
	}
	if !v.present && len(c.rows) > 0 {
		c.absent = append(c.absent, v.field)
	}
	number := func(row uint32) (float64, bool) {
		if v.codes[row] < codeValues {
			return 0, false
		}
		f := v.numbers[v.codes[row]-codeValues]
		return f, f == f
	}
	sign := -1
	if c.Top.Order == "asc" {
		sign = 1
	}
	best := ranking{limit: maxListedNames, compare: func(a, b uint32) int {
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Or(sign*cmp.Compare(x, y), cmp.Compare(a, b))
	}}
	for i, row := range c.rows {
		if i%checkRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, ok := number(row); ok {
			best.offer(row)
		}
	}
	c.result.NamesUnit = v.unit
	for i, row := range best.list {
		f, _ := number(row)
		if i >= cmp.Or(c.Top.Limit, 1) {
			if last, _ := number(best.list[i-1]); f != last {
				return nil
			}
		}
		cell := v.cell(f)
		c.result.Names = append(c.result.Names, Name{Name: name(row), Value: &cell})
	}
	if len(best.list) == maxListedNames { // there may be more records with the last value
		last := best.list[maxListedNames-1]
		f, _ := number(last)
		for _, row := range c.rows {
			if g, ok := number(row); ok && g == f && best.compare(row, last) > 0 {
				c.result.MoreNames++
			}
		}
	}
	return nil
}

// note explains what the caller may have meant otherwise: a field, or a value of a filter, that no record has,
// and other spellings of a value. The figures are correct nevertheless.
func (c *computation) note(ctx context.Context) (string, error) {
	if c.array.count == 0 {
		return "", nil
	}
	var notes []string
	unknown := c.unknownFields()
	for _, field := range unknown {
		text := fmt.Sprintf("no selected record has the field %q", field)
		if names := nearest(field, c.array.paths()); len(names) > 0 && names[0] != field {
			text += "; did you mean " + strings.Join(names, " or ") + "?"
		}
		notes = append(notes, text)
	}
	if len(unknown) > 0 {
		notes = append(notes, "the fields are "+list(c.array.paths()))
	}
	for _, condition := range c.filter {
		if !condition.present || condition.wants == nil {
			continue
		}
		text, err := c.valueNote(ctx, condition)
		if err != nil {
			return "", err
		}
		if text != "" {
			notes = append(notes, text)
		}
	}
	return strings.Join(append(notes, c.notes...), "; "), nil
}

// valueNote describes the values of the field of an equality that are other spellings of the operand, or all
// values if no record matches.
func (c *computation) valueNote(ctx context.Context, condition *condition) (string, error) {
	col, err := c.column(ctx, condition.field)
	if err != nil {
		return "", err
	}
	if spellings := col.spellings(*condition.wants); len(spellings) > 0 {
		return fmt.Sprintf("%q also has %s", condition.field, strings.Join(spellings, ", ")), nil
	}
	if len(c.rows) > 0 {
		return "", nil
	}
	public, err := col.public.Get(ctx)
	if err != nil {
		return "", err
	}
	return condition.wants.note(condition.field, public), nil
}
